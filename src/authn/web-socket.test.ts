import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import type { UserInfo } from '../request/user-info.ts';
import { bearerAuthenticator, tokenUnion } from './bearer.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';
import { staticTokenAuthenticator } from './static-token.ts';
import { unionAuthenticator } from './union.ts';
import { offeredProtocols, webSocketTokenAuthenticator, withOrigins } from './web-socket.ts';

const user = (username: string): UserInfo => ({ username, uid: '', groups: [], extra: {} });
const token = 's3cret.t\u00f6ken';
const tokens = tokenUnion([staticTokenAuthenticator([{ token, user: user('kate') }])], []);
const authenticator = webSocketTokenAuthenticator(tokens, []);
const encoded = Buffer.from(token).toString('base64url');
const shown = `base64url.bearer.authorization.orch.io.${encoded}`;
const other = `base64url.bearer.authorization.k8s.io.${encoded}`;

const asking = (protocols: string | readonly string[], headers: Readonly<Record<string, string>> = {}) => ({
  ...showing({ headers: { 'sec-websocket-protocol': protocols, ...headers } }),
  webSocket: {},
});

describe('the token of a WebSocket', () => {
  for (const protocols of [
    `${shown}, v1`,
    `v1, ${shown}`,
    `v1,${shown},v2`,
    [shown, 'v1'],
    ['v1', shown],
    ` ${shown} ,\tv1 `,
    `${other}, v1`,
  ]) {
    it(`is one of the sub-protocols: ${JSON.stringify(protocols)}`, async () => {
      assert.equal((await authenticator.authenticate(asking(protocols)))?.username, 'kate');
    });
  }

  for (const [what, protocols] of [
    ['alone', shown],
    ['twice', `${shown}, ${shown}, v1`],
    ['under both names', `${shown}, ${other}, v1`],
    ['that nobody knows', `${shown}x, v1`],
    ['with padding', `base64url.bearer.authorization.orch.io.${Buffer.from('x').toString('base64')}, v1`],
    ['that is not base64url', 'base64url.bearer.authorization.orch.io.a$b, v1'],
    ['with bits left over', 'base64url.bearer.authorization.orch.io.eB, v1'],
    ['that is not UTF-8', 'base64url.bearer.authorization.orch.io._w, v1'],
    ['that is empty', 'base64url.bearer.authorization.orch.io., v1'],
  ] as const) {
    it(`${what} does not hold, and makes nobody anonymous`, async () => {
      await assert.rejects(async () => authenticator.authenticate(asking(protocols)), isUnauthorized);
    });
  }

  for (const protocols of [[], '', 'v1', 'v1, v2', `BASE64URL.bearer.authorization.orch.io.${encoded}`]) {
    it(`is none of ${JSON.stringify(protocols)}`, () => {
      assert.equal(authenticator.authenticate(asking(protocols)), undefined);
    });
  }

  it('is ignored in other requests', () => {
    const { webSocket: _, ...plain } = asking(`${shown}, v1`);
    assert.equal(authenticator.authenticate(plain), undefined);
  });

  it('is never among the protocols that may be spoken', () => {
    assert.deepEqual(offeredProtocols([`a, ${shown}`, ` ${other},b ,, c`]), {
      protocols: ['a', 'b', 'c'],
      tokens: [encoded, encoded],
    });
  });
});

describe('a page that opens a WebSocket', () => {
  const certified = { authenticate: () => user('by certificate') };
  const shownTokens = unionAuthenticator([bearerAuthenticator(tokens, []), authenticator]);
  const all = withOrigins(certified, {
    tokens: shownTokens,
    allowsOrigin: (origin) => origin.includes('//good.example'),
  });
  const host = 'server.example:6443';
  const cases: readonly (readonly [origin: string | readonly string[] | undefined, foreign: boolean])[] = [
    [undefined, false],
    ['https://server.example:6443', false],
    ['https://SERVER.example:6443', false],
    ['https://good.example', false],
    ['https://evil.example', true],
    ['https://server.example', true],
    ['https://server.example:6444', true],
    ['http://server.example:6443', true],
    ['https://server.example:6443.evil.example', true],
    ['https://evil.example/https://server.example:6443', true],
    ['null', true],
    ['', true],
    ['file://', true],
    ['https://evil.example https://good.example', true],
    [['https://server.example:6443', 'https://evil.example'], true],
    [['https://good.example', 'https://evil.example'], true],
  ];
  for (const [origin, foreign] of cases) {
    const headers = { host, ...(origin !== undefined && { origin }) };
    it(`of ${JSON.stringify(origin)} is ${foreign ? 'nobody without a token' : 'asked as ever'}`, async () => {
      const ask = (more: Readonly<Record<string, string>> = {}) =>
        all.authenticate({ ...showing({ headers: { ...headers, ...more } }), webSocket: {} });
      if (foreign) {
        assert.throws(ask, (error) => error instanceof StatusError && error.code === 403);
        assert.equal((await ask({ 'sec-websocket-protocol': `${shown}, v1` })).username, 'kate');
        assert.equal((await ask({ authorization: `Bearer ${token}` })).username, 'kate');
        await assert.rejects(async () => ask({ 'sec-websocket-protocol': `${shown}x, v1` }), isUnauthorized);
      } else {
        assert.equal((await ask()).username, 'by certificate');
      }
    });
  }

  it('of another origin waits for an asynchronous authenticator', async () => {
    const late = (found: UserInfo | undefined) =>
      withOrigins(certified, { tokens: { authenticate: async () => found }, allowsOrigin: () => false });
    const credentials = { ...showing({ headers: { host, origin: 'https://evil.example' } }), webSocket: {} };
    assert.equal((await late(user('kate')).authenticate(credentials)).username, 'kate');
    await assert.rejects(async () => late(undefined).authenticate(credentials), { code: 403 });
  });

  it('does not affect other requests', async () => {
    const credentials = showing({ headers: { host, origin: 'https://evil.example' } });
    assert.equal((await all.authenticate(credentials)).username, 'by certificate');
  });
});
