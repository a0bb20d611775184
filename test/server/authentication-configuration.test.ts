import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ecKey, encode, TestProvider } from '../../src/authn/oidc/provider-fixture.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { nameOf, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** --authentication-config (spec section 5.5): several providers and anonymous access in one file, read again when it changes. */

const folder = mkdtempSync(join(tmpdir(), 'configuration-'));
const path = join(folder, 'authentication.yaml');
const held = new AsyncDisposableStack();
let one: TestProvider;
let two: TestProvider;
let server: OrchProcess;

const provider = ({ url, certificateAuthority }: TestProvider, prefix: string, more: object = {}) => ({
  issuer: { url, certificateAuthority, audiences: ['orch', 'tools'], audienceMatchPolicy: 'MatchAny' },
  claimMappings: {
    username: { claim: 'sub', prefix },
    groups: { expression: '"roles" in claims ? claims.roles.map(r, "role:" + r) : []' },
    uid: { claim: 'sub' },
  },
  ...more,
});
const openPaths = { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }] };

/** Replaces the file. */
function configure(jwt: readonly object[], more: object = { anonymous: openPaths }): void {
  const document = {
    apiVersion: 'apiserver.config.orch.io/v1beta1',
    kind: 'AuthenticationConfiguration',
    jwt,
    ...more,
  };
  writeFileSync(`${path}.new`, JSON.stringify(document));
  renameSync(`${path}.new`, path);
}

before(async () => {
  [one, two] = await Promise.all([TestProvider.start(), TestProvider.start([ecKey('two')])]);
  held.use(one);
  held.use(two);
  configure([provider(one, 'one:'), provider(two, 'two:')]);
  server = held.use(await OrchProcess.start({ flags: [`--authentication-config=${path}`] }));
  await becomes(one.token(), 'one:jane');
  await becomes(two.token(), 'two:jane');
});
after(async () => {
  await held.disposeAsync();
  rmSync(folder, { recursive: true });
});

const becomes = (token: string, name: string | number): Promise<void> =>
  until(async () => (await nameOf(server, { token })) === name, `it never was ${name}`);

const metric = async (name: string, status: string): Promise<number> => {
  const { text } = await server.get('/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(`status="${status}"`));
  return Number(line?.split(' ').at(-1) ?? 0);
};
const reloads = 'apiserver_authentication_config_controller_automatic_reloads_total';
const reloadedAt = 'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds';

describe('the providers of a file', () => {
  test('each know their own, for each of their audiences', async () => {
    assert.deepEqual(await whoIs(server, { token: one.token({ roles: ['a', 'b'], aud: ['x', 'tools'] }) }), {
      username: 'one:jane',
      uid: 'jane',
      groups: ['role:a', 'role:b', 'system:authenticated'],
    });
    assert.equal(await nameOf(server, { token: two.token({ sub: 'joe' }) }), 'two:joe');
  });

  test('know nobody else: 401', async () => {
    for (const token of [
      one.token({ aud: 'else' }),
      one.token({ iss: two.url }),
      two.token({ iss: one.url }),
      one.token({ sub: '' }),
      one.token({ sub: undefined }),
      one.token({ sub: ['jane'] }),
      one.token({ exp: Math.floor(Date.now() / 1000) - 1 }),
      one.token({ roles: [{ a: 1 }] }),
      one
        .token()
        .replace(/^[^.]*/, encode({ alg: 'none' }))
        .replace(/[^.]*$/, ''),
    ]) {
      assert.equal(await nameOf(server, { token }), 401);
    }
  });

  test('may be asked who they like to be: a reserved name is for rules to refuse', async () => {
    assert.equal(await nameOf(server, { token: one.token({ sub: 'system:admin' }) }), 'one:system:admin');
    const refuse = { userValidationRules: [{ expression: "!user.username.startsWith('system:')" }] };
    configure([provider(one, '', refuse), provider(two, 'two:')]);
    await becomes(one.token(), 'jane');
    assert.equal(await nameOf(server, { token: one.token({ sub: 'system:admin' }) }), 401);
  });
});

describe('a file that changes', () => {
  test('counts at once, and is timed', async () => {
    const before = await metric(reloads, 'success');
    configure([provider(one, 'again:'), provider(two, 'two:')]);
    await becomes(one.token(), 'again:jane');
    assert.equal(await metric(reloads, 'success'), before + 1);
    assert.ok(Math.abs((await metric(reloadedAt, 'success')) - Date.now() / 1000) < 60);
  });

  test('takes a provider away', async () => {
    const token = two.token();
    configure([provider(one, 'again:')]);
    await becomes(token, 401);
    assert.equal(await nameOf(server, { token: one.token() }), 'again:jane');
  });

  test('to something that cannot be counts for nothing, whatever is wrong with it', async () => {
    const before = await metric(reloads, 'failure');
    const broken: readonly (() => void)[] = [
      () => configure([provider(one, 'x:'), provider(one, 'y:')]),
      () => configure([provider(one, 'x:')], { anonymous: { enabled: true } }),
      () => writeFileSync(path, '{'),
    ];
    for (const [at, change] of broken.entries()) {
      change();
      await until(async () => (await metric(reloads, 'failure')) > before + at, `failure ${at} is counted`);
      assert.equal(await nameOf(server, { token: one.token() }), 'again:jane');
    }
    assert.equal((await send(server, 'GET', '/version')).status, 401);
    configure([provider(one, 'mended:')]);
    await becomes(one.token(), 'mended:jane');
  });
});

describe('who comes without a credential', () => {
  test('comes to the paths of the file only', async () => {
    for (const [target, status] of [
      ['/livez', 200],
      ['/readyz?verbose', 200],
      ['/livez/', 401],
      ['/livez/ping', 401],
      ['/%6civez', 401],
      ['/healthz', 401],
      ['/version', 401],
      ['/api/v1/namespaces', 401],
      ['/apis/authentication.orch.io/v1/selfsubjectreviews', 401],
    ] as const) {
      assert.deepEqual([target, (await send(server, 'GET', target)).status], [target, status]);
    }
  });

  test('is told how to: 401 names the scheme', async () => {
    const { status, headers } = await send(server, 'GET', '/version');
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
  });
});

describe('floods of tokens', () => {
  test('of keys that nobody has make the provider no more work than one does', async () => {
    const before = one.requests.length;
    const strange = Array.from({ length: 300 }, (_, n) => one.token({ sub: `u-${n}` }, { kid: `k-${n}` }));
    const forged = strange.map((token) => token.replace(/.{8}$/, 'AAAAAAAA'));
    const names = await Promise.all(forged.map((token) => nameOf(server, { token })));
    assert.deepEqual(new Set(names), new Set([401]));
    assert.ok(one.requests.length - before <= 4, `${one.requests.length - before} requests`);
    assert.equal(await nameOf(server, { token: one.token() }), 'mended:jane');
  });
});
