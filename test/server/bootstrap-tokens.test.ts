import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { makeBootstrapSecret } from '../support/all-authenticators.ts';
import { nameOf, reviewToken, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Tokens with which nodes introduce themselves (spec section 5.4), by every rule of their Secrets. */

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--enable-bootstrap-token-auth'] });
});
after(() => server[Symbol.asyncDispose]());

const secret = '0123456789abcdef';
let made = 0;
/** An id that no test had before. */
const newId = (): string => `t${(made++).toString().padStart(5, '0')}`;
const secretsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;

/** Makes a Secret of that data; whom its token is. */
async function identityWith(data: Readonly<Record<string, string>>): Promise<string | number> {
  const id = newId();
  await makeBootstrapSecret(server, `${id}.${secret}`, data);
  const name = await nameOf(server, { token: `${id}.${secret}` });
  return typeof name === 'string' ? name.replace(id, 'ID') : name;
}

const inTime = (ms: number): string => new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '');
const user = 'system:bootstrap:ID';

describe('a bootstrap token', () => {
  test('is a user of the bootstrappers, as soon as its Secret is there', async () => {
    const token = `${newId()}.${secret}`;
    assert.equal(await nameOf(server, { token }), 401);
    await makeBootstrapSecret(server, token);
    assert.deepEqual(await whoIs(server, { token }), {
      username: `system:bootstrap:${token.slice(0, 6)}`,
      groups: ['system:bootstrappers', 'system:authenticated'],
    });
    const { authenticated, user: reviewed } = await reviewToken(server, token);
    assert.deepEqual([authenticated, reviewed.username], [true, `system:bootstrap:${token.slice(0, 6)}`]);
  });

  test('has further groups', async () => {
    const token = `${newId()}.${secret}`;
    const groups = 'system:bootstrappers:worker,system:bootstrappers:a:b';
    await makeBootstrapSecret(server, token, { 'auth-extra-groups': groups, description: 'for workers' });
    const found = await whoIs(server, { token });
    assert.ok(typeof found === 'object');
    assert.deepEqual(found.groups, [
      'system:bootstrappers',
      'system:bootstrappers:a:b',
      'system:bootstrappers:worker',
      'system:authenticated',
    ]);
  });

  const rows: readonly (readonly [what: string, data: Readonly<Record<string, string>>, expected: string | number])[] =
    [
      ['that is good for an hour', { expiration: inTime(3_600_000) }, user],
      ['of another time zone', { expiration: inTime(3_600_000).replace('Z', '+00:00') }, user],
      ['that has expired', { expiration: inTime(-1_000) }, 401],
      ['that expires nobody knows when', { expiration: 'tomorrow' }, 401],
      ['that signs too', { 'usage-bootstrap-signing': 'true' }, user],
      ['that only signs', { 'usage-bootstrap-signing': 'true', 'usage-bootstrap-authentication': 'false' }, 401],
      ['for a use that is nearly true', { 'usage-bootstrap-authentication': 'True' }, 401],
      ['for a use that is not said', { 'usage-bootstrap-authentication': '' }, 401],
      ['of another id', { 'token-id': 'abcdef' }, 401],
      ['without an id', { 'token-id': '' }, 401],
      ['of another secret', { 'token-secret': '0123456789abcdee' }, 401],
      ['without a secret', { 'token-secret': '' }, 401],
      ['of a group that is no bootstrapper', { 'auth-extra-groups': 'system:masters' }, 401],
      ['of a group that begins like one', { 'auth-extra-groups': 'system:bootstrappers-of-all' }, 401],
      ['of an empty group', { 'auth-extra-groups': 'system:bootstrappers:a,' }, 401],
      ['of a group with a blank', { 'auth-extra-groups': 'system:bootstrappers:a, system:bootstrappers:b' }, 401],
    ];
  for (const [what, data, expected] of rows) {
    test(`${what}: ${expected}`, async () => assert.equal(await identityWith(data), expected));
  }

  test('ends at its time, without anybody doing anything', async () => {
    const token = `${newId()}.${secret}`;
    await makeBootstrapSecret(server, token, { expiration: inTime(1_500) });
    assert.notEqual(await nameOf(server, { token }), 401);
    await until(async () => (await nameOf(server, { token })) === 401, 'it ends');
  });

  test('ends with its Secret, and when that says something else', async () => {
    const token = `${newId()}.${secret}`;
    const path = `${secretsOf('orch-system')}/bootstrap-token-${token.slice(0, 6)}`;
    const patch = (body: unknown) =>
      server.request('PATCH', path, { body, headers: { 'content-type': 'application/merge-patch+json' } });
    await makeBootstrapSecret(server, token);
    assert.notEqual(await nameOf(server, { token }), 401);
    await patch({ stringData: { 'usage-bootstrap-authentication': 'false' } });
    assert.equal(await nameOf(server, { token }), 401);
    await patch({
      stringData: { 'usage-bootstrap-authentication': 'true' },
      metadata: { finalizers: ['a.example/b'] },
    });
    assert.notEqual(await nameOf(server, { token }), 401);
    await server.delete(path);
    assert.equal(await nameOf(server, { token }), 401, 'while it is being deleted');
    await patch({ metadata: { finalizers: null } });
    assert.equal(await nameOf(server, { token }), 401);
  });
});

describe('what is not quite a bootstrap token is nobody', () => {
  const id = 'abcdef';
  before(() => makeBootstrapSecret(server, `${id}.${secret}`));
  for (const token of [
    `${id}.${secret}0`,
    `${id}.${secret.slice(1)}`,
    `${id}x.${secret}`,
    `${id.toUpperCase()}.${secret}`,
    `${id}.${secret.toUpperCase()}`,
    `${id}.${'x'.repeat(16)}`,
    `${id}.`,
    `.${secret}`,
    id,
    secret,
    `${id}.${secret}.`,
    `../${id}.${secret}`,
  ]) {
    test(token, async () => assert.equal(await nameOf(server, { token }), 401));
  }

  test('nor a Secret of another type, name or namespace', async () => {
    const stringData = (of: string) => ({
      'token-id': of,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
    });
    const rows = [
      ['aaaaaa', 'orch-system', 'bootstrap-token-aaaaaa', 'Opaque'],
      ['bbbbbb', 'default', 'bootstrap-token-bbbbbb', 'bootstrap.orch.io/token'],
      ['cccccc', 'orch-system', 'token-cccccc', 'bootstrap.orch.io/token'],
    ] as const;
    for (const [of, namespace, name, type] of rows) {
      const body = { metadata: { name }, type, stringData: stringData(of) };
      assert.equal((await server.post(secretsOf(namespace), body)).status, 201);
      assert.equal(await nameOf(server, { token: `${of}.${secret}` }), 401, name);
    }
  });

  test('nor any at all where --enable-bootstrap-token-auth is not given', async () => {
    await using without = await OrchProcess.start();
    await makeBootstrapSecret(without, `${id}.${secret}`);
    assert.equal(await nameOf(without, { token: `${id}.${secret}` }), 401);
  });
});
