import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { PluginFixture } from '../../src/outbound/credentials/plugin-fixture.ts';
import { nameOf, reviewToken, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { TokenWebhook } from '../support/token-webhook.ts';

/** Tokens that a service knows which is asked over HTTPS (spec section 5.6), by every flag --authentication-token-webhook-*. */

const held = new AsyncDisposableStack();
let webhook: TokenWebhook;
before(async () => {
  webhook = held.use(await TokenWebhook.start());
});
after(() => held.disposeAsync());

const known = (more: object = {}) => ({ authenticated: true, user: { username: 'wanda', ...more } });
const flag = (file: string): string => `--authentication-token-webhook-config-file=${file}`;

/** A server that asks the webhook; it goes with the test. */
async function startWith(user: object, ...flags: readonly string[]): Promise<OrchProcess> {
  webhook.questions.length = 0;
  webhook.review = ({ token }) => (token.startsWith('good') ? known() : { authenticated: false });
  webhook.instead = undefined;
  return OrchProcess.start({ flags: [flag(webhook.connectionFile({ ...user })), ...flags] });
}

describe('a server with a token webhook', () => {
  let server: OrchProcess;
  before(async () => {
    const { certificate, key } = webhook.fixture.issue('apiserver');
    const data = (pem: string | Buffer): string => Buffer.from(pem).toString('base64');
    const user = { 'client-certificate-data': data(certificate), 'client-key-data': data(key) };
    server = held.use(await startWith(user, '--api-audiences=one,two'));
  });

  const asked = (token: string): number => webhook.questions.filter((question) => question.token === token).length;

  test('asks in v1beta1 by itself, shows its certificate, and names its audiences', async () => {
    assert.equal(await nameOf(server, { token: 'good-1' }), 'wanda');
    assert.deepEqual(webhook.questions, [
      {
        apiVersion: 'authentication.orch.io/v1beta1',
        token: 'good-1',
        audiences: ['one', 'two'],
        authorization: undefined,
        certificate: 'apiserver',
      },
    ]);
  });

  test('takes over all that it is told of the user', async () => {
    const extra = { Scopes: ['a', 'b'], 'example.com/x': [] };
    webhook.review = () => known({ uid: '7', groups: ['g', 'h'], extra });
    assert.deepEqual(await whoIs(server, { token: 'good-2' }), {
      username: 'wanda',
      uid: '7',
      groups: ['g', 'h', 'system:authenticated'],
      extra,
    });
  });

  test('asks once for a token, known or not, however often and by how many it is shown', async () => {
    webhook.review = ({ token }) => (token === 'good-3' ? known() : {});
    for (const [token, expected] of [
      ['good-3', 'wanda'],
      ['bad-3', 401],
    ] as const) {
      const names = await Promise.all(Array.from({ length: 20 }, () => nameOf(server, { token })));
      assert.deepEqual(new Set([...names, await nameOf(server, { token })]), new Set([expected]));
      assert.equal(asked(token), 1);
    }
  });

  test('asks again where the webhook is overloaded, and for the next request where it failed', async () => {
    let failures = 2;
    webhook.review = () => known();
    webhook.instead = (_request, response) => failures-- > 0 && !!response.writeHead(429).end();
    assert.equal(await nameOf(server, { token: 'good-4' }), 'wanda');
    for (const status of [503, 400, 302]) {
      webhook.instead = (_request, response) =>
        !!response.writeHead(status, { location: `https://127.0.0.1:${webhook.fixture.port}/elsewhere` }).end();
      assert.equal(await nameOf(server, { token: `good-${status}` }), 401);
    }
    webhook.instead = (request) => request.url === '/elsewhere' && assert.fail('a redirect was followed');
    assert.equal(await nameOf(server, { token: 'good-302' }), 'wanda');
    webhook.instead = undefined;
  });

  test('takes an answer only that is one', async () => {
    for (const [name, answer] of [
      ['no JSON', '<html>'],
      ['no user', JSON.stringify({ status: { authenticated: true } })],
      ['no name', JSON.stringify({ status: { authenticated: true, user: { username: '' } } })],
      ['text for true', JSON.stringify({ status: { authenticated: 'true', user: { username: 'x' } } })],
      ['twice', '{"status":{"authenticated":false,"authenticated":true,"user":{"username":"x"}}}'],
      ['another kind', JSON.stringify({ kind: 'Pod', status: known() })],
      ['another version', JSON.stringify({ apiVersion: 'authentication.orch.io/v1', status: known() })],
      ['too much', JSON.stringify({ status: known({ groups: ['x'.repeat(2 * 1024 * 1024)] }) })],
      ['cut off', JSON.stringify({ status: known() }).slice(0, -3)],
      ['for others', JSON.stringify({ status: { ...known(), audiences: ['three'] } })],
    ] as const) {
      webhook.instead = (_request, response) => !!response.end(answer);
      assert.equal(await nameOf(server, { token: `good-${name.replaceAll(' ', '-')}` }), 401, name);
    }
    webhook.instead = (_request, response) => !!response.end(JSON.stringify({ status: known() }));
    assert.equal(await nameOf(server, { token: 'good-short' }), 'wanda', 'kind and version may be left out');
    webhook.instead = undefined;
  });

  test('asks for others on behalf of a review', async () => {
    webhook.review = ({ audiences }) => ({ ...known(), audiences: audiences?.includes('vault') ? ['vault'] : ['one'] });
    const ours = await reviewToken(server, 'good-5');
    assert.deepEqual([ours.authenticated, ours.audiences, ours.user.username], [true, ['one'], 'wanda']);
    const theirs = await reviewToken(server, 'good-5', ['x', 'vault']);
    assert.deepEqual([theirs.authenticated, theirs.audiences], [true, ['vault']]);
    assert.deepEqual(webhook.questions.at(-1)?.audiences, ['x', 'vault']);
    webhook.review = () => ({ error: 'good-6 has expired' });
    const refused = await reviewToken(server, 'good-6');
    assert.deepEqual([refused.authenticated, refused.user], [undefined, {}]);
    assert.match(refused.error ?? '', /the token webhook: \[token\] has expired/);
  });

  test('never asks about what is known, nor about nothing', async () => {
    const before = webhook.questions.length;
    await nameOf(server, server.credentials);
    await send(server, 'GET', '/version');
    await send(server, 'GET', '/version', { shown: { headers: { authorization: 'Bearer ' } } });
    await send(server, 'GET', '/version', { shown: { headers: { authorization: 'Basic Z29vZDpnb29k' } } });
    assert.equal(webhook.questions.length, before);
  });

  test('counts what it asks', async () => {
    const { text } = await server.get('/metrics');
    assert.match(text, /^apiserver_delegated_authn_request_total\{code="200"\} [1-9]/m);
    assert.match(text, /^apiserver_delegated_authn_request_total\{code="429"\} 2$/m);
    assert.match(text, /^authentication_token_cache_request_total\{status="hit"\} [1-9]/m);
  });

  test('shows tokens neither in its log nor in its metrics', async () => {
    assert.doesNotMatch(server.log + (await server.get('/metrics')).text, /good-|bad-/);
  });
});

describe('a server asks', () => {
  test('in v1, and each time where nothing is kept: --authentication-token-webhook-cache-ttl=0s', async () => {
    await using server = await startWith(
      { token: 'of-the-server' },
      '--authentication-token-webhook-version=v1',
      '--authentication-token-webhook-cache-ttl=0s',
    );
    for (const token of ['good', 'good', 'bad', 'bad']) await nameOf(server, { token });
    assert.deepEqual(
      webhook.questions.map(({ token, apiVersion, authorization }) => [token, apiVersion, authorization]),
      ['good', 'good', 'bad', 'bad'].map((token) => [token, 'authentication.orch.io/v1', 'Bearer of-the-server']),
    );
  });

  test('again once the time of an answer has passed', async () => {
    await using server = await startWith({}, '--authentication-token-webhook-cache-ttl=100ms');
    await nameOf(server, { token: 'good' });
    const { promise, resolve } = Promise.withResolvers<void>();
    webhook.review = () => {
      resolve();
      return {};
    };
    let name: string | number = 'wanda';
    await until(async () => {
      name = await nameOf(server, { token: 'good' });
      return name !== 'wanda';
    }, 'the answer is kept for good');
    await promise;
    assert.equal(name, 401);
  });

  test('with what a credential plugin gives, and asks that again where it is refused', async () => {
    const plugins = new PluginFixture();
    try {
      const runs = plugins.file('count');
      const source =
        `fs.appendFileSync(${JSON.stringify(runs)}, 'x');` +
        `answer({ token: 'plugin-' + fs.readFileSync(${JSON.stringify(runs)}).length });`;
      const exec = {
        apiVersion: 'client.authentication.orch.io/v1',
        command: plugins.program(source, 'plugin'),
        interactiveMode: 'Never',
      };
      await using server = await startWith({ exec }, '--authentication-token-webhook-cache-ttl=0s');
      assert.equal(await nameOf(server, { token: 'good-1' }), 'wanda');
      assert.equal(await nameOf(server, { token: 'good-2' }), 'wanda');
      webhook.instead = ({ headers }, response) =>
        headers.authorization === 'Bearer plugin-1' && !!response.writeHead(401).end();
      assert.equal(await nameOf(server, { token: 'good-3' }), 'wanda');
      assert.deepEqual(
        webhook.questions.map(({ authorization }) => authorization),
        ['Bearer plugin-1', 'Bearer plugin-1', 'Bearer plugin-2'],
      );
      assert.equal(readFileSync(runs).length, 2);
    } finally {
      plugins.close();
    }
  });

  test('nobody but the service whose certificate its file vouches for', async () => {
    await using impostor = await TokenWebhook.start();
    impostor.review = () => known();
    const file = webhook.connectionFile();
    writeFileSync(file, readFileSync(file, 'utf8').replace(`:${webhook.fixture.port}/`, `:${impostor.fixture.port}/`));
    await using server = await OrchProcess.start({ flags: [flag(file)] });
    assert.equal(await nameOf(server, { token: 'good' }), 401);
    assert.deepEqual(impostor.questions, []);
    assert.match(server.log, /the token webhook fails/);
    assert.doesNotMatch(server.log, /good/);
  });
});
