import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { AllAuthenticators, type CredentialKind, staticToken } from '../support/all-authenticators.ts';
import { nameOf, reviewToken, type Shown, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Status, openHttp2, requestText, sendRaw, statusOf, withoutCertificate } from '../support/raw-client.ts';

/** Credentials that no honest client sends, to a server with every authenticator: none of them is somebody, and none costs much. */

const held = new AsyncDisposableStack();
let all: AllAuthenticators;
let server: OrchProcess;
let kinds: readonly CredentialKind[];
before(async () => {
  all = held.use(await AllAuthenticators.start());
  server = held.use(await OrchProcess.start({ flags: all.flags() }));
  kinds = await all.credentials(server);
  await until(async () => (await nameOf(server, good('an ID token'))) === 'oidc:olga', 'the provider is reached');
});
after(async () => {
  try {
    await everybodyIsKnown();
    assert.equal((await server.get('/readyz')).status, 200);
  } finally {
    await held.disposeAsync();
  }
});

function good(kind: string): Shown {
  const found = kinds.find((each) => each.kind === kind);
  assert.ok(found, kind);
  return found.good;
}

async function everybodyIsKnown(): Promise<void> {
  for (const { username, good: shown } of kinds) assert.equal(await nameOf(server, shown), username);
}

describe('tokens that are too long', () => {
  const sizes = [limits.tokenLengthMax - 2_000, limits.tokenLengthMax + 1, 256 * 1024];
  const shapes: readonly (readonly [what: string, make: (size: number) => string])[] = [
    ['opaque', (size) => 'a'.repeat(size)],
    ['of three parts', (size) => `${'a'.repeat(size / 3)}.${'b'.repeat(size / 3)}.${'c'.repeat(size / 3)}`],
    ['of many parts', (size) => 'a.'.repeat(size / 2)],
    ['that claim to be ours', (size) => `${good('a token of a service account').token}${'A'.repeat(size)}`],
    ['nested deeply', (size) => `e30.${Buffer.from('['.repeat(size / 2)).toString('base64url')}.AA`],
  ];
  for (const [what, make] of shapes) {
    test(`${what}: nobody's, in a header and in a review`, async () => {
      for (const size of sizes) {
        const token = make(size);
        // A server need not read headers to their end to refuse them.
        const refused = await nameOf(server, { token }).catch(() => 431);
        assert.ok(refused === 401 || refused === 431, `${refused}`);
        const { authenticated, user } = await reviewToken(server, token);
        assert.deepEqual([authenticated, user], [undefined, {}]);
      }
    });
  }
});

describe('tokens of strange characters', () => {
  test("are nobody's in a review", async () => {
    for (const token of [
      'a\0b',
      'a\ud800b',
      '\u{1f600}',
      'a\nb',
      `${staticToken}\0`,
      `${staticToken} `,
      ' ',
      '\u202e',
    ]) {
      assert.deepEqual((await reviewToken(server, token)).user, {}, JSON.stringify(token));
    }
  });

  test('are no header, or nobody in one', async () => {
    for (const [text, status] of [
      [`Bearer ${staticToken}\0`, 400],
      [`Bearer ${staticToken}\x01`, 400],
      [`Bearer ${staticToken}\xff`, 401],
      [`Bearer\r\n ${staticToken}`, 400],
      [`Bearer ${Buffer.from('jürgen').toString('latin1')}`, 401],
      ['Bearer ..', 401],
      ['Bearer e30.e30.', 401],
      ['Bearer bnVsbA.bnVsbA.AA', 401],
      ['Bearer W10.W10.AA', 401],
    ] as const) {
      const answer = await sendRaw(
        server,
        requestText('GET', '/version', `authorization: ${text}`),
        withoutCertificate,
      );
      assert.deepEqual([text, statusOf(answer)], [text, status]);
    }
  });
});

describe('headers that can be read in two ways', () => {
  /** Who the server refuses, or the status where nobody is named. */
  async function seen(...lines: readonly string[]): Promise<string | number> {
    const answer = await sendRaw(server, requestText('GET', '/api/v1/nodes', ...lines), withoutCertificate);
    return /User \\"([^"\\]+)/.exec(answer)?.[1] ?? statusOf(answer);
  }
  const stan = `Bearer ${staticToken}`;
  const rows: readonly (readonly [lines: readonly string[], seen: string | number])[] = [
    [[`Authorization: ${stan}`, 'authorization: Bearer other'], 400],
    [['authorization: Bearer other', `AUTHORIZATION: ${stan}`], 400],
    [['authorization: Basic eDp5', `authorization: ${stan}`], 400],
    [[`authorization: ${stan},${stan}`], 401],
    [[`authorization: bEARER ${staticToken}`], 'stan'],
    [[`authorization:     ${stan}   `], 'stan'],
    // A credential was shown: whoever it is meant for, nobody is served as a stranger.
    [[`authorization: Bearer  ${staticToken}`], 401],
    [[`authorization: Bearer\t${staticToken}`], 401],
    [[`authorization: "${stan}"`], 401],
    [[`authorization : ${stan}`], 400],
    [[`authorization\0: ${stan}`], 400],
    [[`proxy-authorization: ${stan}`], 'system:anonymous'],
    [[`sec-websocket-protocol: base64url.bearer.authorization.orch.io.${staticToken}`], 'system:anonymous'],
    [['x-remote-user: root', 'x-remote-group: system:masters'], 'system:anonymous'],
    [['x-remote-user: root', `authorization: ${stan}`], 'stan'],
  ];
  for (const [lines, expected] of rows) {
    const shown = lines.join(' | ').replaceAll(staticToken, 'TOKEN');
    test(`${JSON.stringify(shown)}: ${expected}`, async () => assert.equal(await seen(...lines), expected));
  }

  test('nor are there such of HTTP/2', async () => {
    const session = await openHttp2(server, withoutCertificate);
    const path = '/api/v1/nodes';
    assert.equal(await http2Status(session, { ':path': path, authorization: stan }), 403);
    assert.equal(await http2Status(session, { ':path': path, authorization: 'Bearer other' }), 401);
    session.destroy();
  });
});

describe('names that are not what they look like', () => {
  const says = (headers: NonNullable<Shown['headers']>): Shown => ({ ...good('the headers of a proxy'), headers });

  test('keys of extra values are data, whatever they are called', async () => {
    const keys = ['__proto__', 'constructor', 'toString', 'a%00b', '%2e%2e%2f', '%ff', 'A', 'example.com%2FB'];
    const headers = Object.fromEntries(keys.map((key) => [`X-Remote-Extra-${key}`, 'x']));
    const user = await whoIs(server, says({ 'X-Remote-User': 'p', ...headers }));
    assert.ok(typeof user === 'object');
    const expected = ['__proto__', 'constructor', 'tostring', 'a\0b', '../', '%ff', 'a', 'example.com/b'];
    assert.deepEqual(Object.keys(user.extra ?? {}).sort(), expected.sort());
  });

  test('a webhook may say much and odd things of a user, and no more than that', async () => {
    const { review } = all.webhook;
    const groups = Array.from({ length: 50_000 }, (_, at) => `g${at}`);
    const extra = JSON.parse('{"__proto__":["x"],"":["y"],"a\\u0000b":[""]}');
    all.webhook.review = ({ token }) => ({
      authenticated: true,
      user: { username: token, groups: token === 'many' ? groups : ['', '\u0000'], extra },
    });
    const many = await whoIs(server, { token: 'many' });
    assert.equal(typeof many === 'object' && many.groups.length, 50_001);
    const odd = await whoIs(server, { token: 'odd' });
    assert.deepEqual(odd, { username: 'odd', groups: ['', '\0', 'system:authenticated'], extra });
    for (const token of ['many', 'odd']) {
      assert.equal((await send(server, 'GET', '/api/v1/nodes', { shown: { token } })).status, 403);
    }
    all.webhook.review = review;
  });

  test('a webhook that repeats many audiences costs no more than their number', async () => {
    const { review } = all.webhook;
    all.webhook.review = ({ audiences }) => ({ authenticated: true, user: { username: 'u' }, audiences });
    const audiences = Array.from({ length: limits.unstoredPartsMax - 500 }, (_, at) => `a${at}`);
    assert.equal((await reviewToken(server, 'for-many', audiences)).audiences?.length, audiences.length);
    all.webhook.review = review;
  });

  test('a name of the system is a name: nobody gets more by it than it is bound to', async () => {
    for (const name of ['system:admin', 'system:node:a', 'system:serviceaccount:default:robot', 'system:masters']) {
      const shown = says({ 'X-Remote-User': name });
      assert.equal(await nameOf(server, shown), name);
      assert.equal((await send(server, 'GET', '/api/v1/secrets', { shown })).status, 403);
    }
  });
});

describe('floods', () => {
  const count = 1_000;
  const memory = (): number =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024;

  /** Sends requests with these tokens, many at a time; the statuses. */
  async function flood(make: (at: number) => string): Promise<ReadonlySet<number>> {
    const session = connect(server.url, { ca: server.credentials.ca });
    try {
      const tokens = Array.from({ length: count }, (_, at) => make(at)).values();
      const statuses = new Set<number>();
      const one = async (): Promise<void> => {
        for (const token of tokens) {
          statuses.add(await http2Status(session, { ':path': '/version', authorization: `Bearer ${token}` }));
        }
      };
      await Promise.all(Array.from({ length: 50 }, one));
      return statuses;
    } finally {
      session.destroy();
    }
  }

  const forged = (kind: string) => (at: number) =>
    `${good(kind).token?.slice(0, -8)}${at.toString().padStart(7, '0')}A`;

  test('of made-up tokens of every kind are refused one by one, and nobody else notices', async () => {
    const before = memory();
    for (const make of [
      (at: number) => `opaque-${at}-${'x'.repeat(4_000)}`,
      (at: number) => `f${at.toString().padStart(5, '0')}.0123456789abcdef`,
      forged('a token of a service account'),
      forged('an ID token'),
    ]) {
      const [statuses] = await Promise.all([flood(make), everybodyIsKnown()]);
      assert.deepEqual([...statuses], [401]);
    }
    assert.ok(memory() - before < 300 * 1024 * 1024, `${memory() - before} bytes more`);
  });

  test('of tokens with keys that nobody has make the provider no work', async () => {
    const before = all.provider.requests.length;
    const token = all.provider.token({}, { kid: 'unknown' }).slice(0, -8);
    await flood((at) => `${token}${at.toString().padStart(7, '0')}A`);
    assert.ok(all.provider.requests.length - before <= 4, `${all.provider.requests.length - before} requests`);
  });
});
