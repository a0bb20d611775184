import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { describe, test } from 'node:test';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { withAnonymous } from '../../src/authn/anonymous.ts';
import { bearerAuthenticator, tokenUnion } from '../../src/authn/bearer.ts';
import { clientCertificateAuthenticator } from '../../src/authn/client-certificate.ts';
import { requestHeaderNames } from '../../src/authn/identity-headers.ts';
import { requestHeaderAuthenticator } from '../../src/authn/request-header.ts';
import { staticTokenAuthenticator } from '../../src/authn/static-token.ts';
import { unionAuthenticator } from '../../src/authn/union.ts';
import { ClosableStack } from '../../src/base/disposable.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { once } from '../../src/base/waits-fixture.ts';
import { sendStatus } from '../../src/content/status.ts';
import { orch } from '../../src/dialect/orch.ts';
import { fetch2, serving, sessionOf, start } from '../../src/http/listener-fixture.ts';
import { type CertificateRecipe, forClients, makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { authoritiesOf, TrustPool } from '../../src/pki/trust-pool.ts';
import { pipelineOf, pipelineParts } from '../../src/server/serving/pipeline-fixture.ts';
import type { PipelineParts } from '../../src/server/serving/stages/parts.ts';

/**
 * Authorities of users and authorities of proxies at one listener: a certificate is worth what the pool of each
 * authenticator says now, whatever was true when the connection opened, or in a session before it.
 */

const users = makeCertificate({ name: 'users', authority: true });
const proxies = makeCertificate({ name: 'proxies', authority: true });
const middle = makeCertificate({ name: 'root', organizations: ['system:masters'], authority: true, issuer: users });
const stranger = makeCertificate({ name: 'stranger', authority: true });
const leaf = (recipe: CertificateRecipe) => makeCertificate({ name: 'jane', uses: [forClients], ...recipe });
const jane = leaf({ issuer: users });
const throughMiddle = leaf({ issuer: middle });
const proxy = leaf({ name: 'front', issuer: proxies });
const unknown = leaf({ issuer: stranger });
const sent = (...chain: readonly { readonly cert: string; readonly key: string }[]): ConnectionOptions => ({
  cert: chain.map(({ cert }) => cert).join(''),
  key: chain[0]?.key ?? '',
});

async function open() {
  const pools = { users: new TrustPool(users.cert, systemClock), proxies: new TrustPool(proxies.cert, systemClock) };
  const names = requestHeaderNames({ username: ['X-Remote-User'], group: ['X-Remote-Group'] });
  const tokens = tokenUnion(
    [staticTokenAuthenticator([{ token: 'token-of-kate', user: { ...nobody, username: 'kate' } }])],
    [],
  );
  const resources = new ClosableStack();
  const refuse: PipelineParts['refuse'] = ({ exchange }, error) =>
    sendStatus(exchange, error, { clock: systemClock, logger: silentLogger });
  const parts = pipelineParts({
    clock: systemClock,
    resources,
    authenticator: withAnonymous(
      unionAuthenticator([
        requestHeaderAuthenticator({ pool: pools.proxies, allowedNames: ['front'], names }),
        clientCertificateAuthenticator({ dialect: orch, pool: pools.users }),
        bearerAuthenticator(tokens, []),
      ]),
      'allow',
    ),
    requestHeaders: names,
    refuse,
    answer: ({ exchange, user }) =>
      exchange.respond(
        200,
        {},
        [user.username, ...user.groups, ...exchange.headerNames().filter(isIdentity)].join(' '),
      ),
  });
  const started = await start(pipelineOf(parts), { ca: authoritiesOf(Object.values(pools)).join('') });
  return {
    started,
    /** As the server does when a file has changed. */
    reload(which: keyof typeof pools, pem: string): void {
      pools[which].replace(pem);
      started.listener.setTls({ ...serving, ca: authoritiesOf(Object.values(pools)) });
    },
    async [Symbol.asyncDispose]() {
      resources.close();
      await started[Symbol.asyncDispose]();
    },
  };
}

const nobody = { username: '', uid: '', groups: [], extra: {} };
const isIdentity = (name: string): boolean => /^(authorization|x-remote|impersonate)/.test(name);

/** Who the server says that one is; the status where it says nothing. */
async function who(session: ClientHttp2Session, headers: Record<string, string | string[]> = {}): Promise<string> {
  const { status, body } = await fetch2(session, '/version', { headers });
  return status === 200 ? body.toString() : String(status);
}

async function who1(socket: TLSSocket, ...lines: readonly string[]): Promise<string> {
  socket.write(`${['GET /version HTTP/1.1', 'host: a', ...lines].join('\r\n')}\r\n\r\n`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  const [head = '', body = ''] = data.toString().split('\r\n\r\n');
  return head.startsWith('HTTP/1.1 200 ') ? body : (head.split(' ')[1] ?? '');
}

const forged = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' };
const asRoot = 'root system:masters system:authenticated';
const asJane = 'jane system:authenticated';
const asNobody = 'system:anonymous system:unauthenticated';

describe('what a certificate is worth', () => {
  const rows: readonly (readonly [
    what: string,
    shown: ConnectionOptions,
    headers: Record<string, string>,
    seen: string,
  ])[] = [
    ['a user', sent(jane), {}, asJane],
    ['a user who says he is a proxy', sent(jane), forged, asJane],
    ['a user through an intermediate', sent(throughMiddle, middle), {}, asJane],
    ['the same with headers of a proxy', sent(throughMiddle, middle), forged, asJane],
    ['with the certificate of a proxy behind it', sent(jane, proxy, proxies), forged, asJane],
    ['a proxy', sent(proxy), forged, asRoot],
    ['a proxy with the authority of users behind it', sent(proxy, users), {}, '401'],
    ['a proxy that speaks for nobody is no user', sent(proxy), {}, '401'],
    ['a proxy that is not allowed', sent(leaf({ name: 'side', issuer: proxies })), forged, '401'],
    [
      'a user with the name of a proxy',
      sent(leaf({ name: 'front', issuer: users })),
      forged,
      'front system:authenticated',
    ],
    ['an intermediate that was kept back', sent(throughMiddle), {}, '401'],
    ['a stranger', sent(unknown), forged, '401'],
    ['nobody', {}, forged, asNobody],
    [
      'a stranger with a good token',
      sent(unknown),
      { authorization: 'Bearer token-of-kate' },
      'kate system:authenticated',
    ],
    ['a user with a bad token', sent(jane), { authorization: 'Bearer nonsense' }, asJane],
    ['nobody with a bad token', {}, { authorization: 'Bearer nonsense' }, '401'],
    ['a proxy that impersonates', sent(proxy), { ...forged, 'impersonate-user': 'bob' }, 'bob system:authenticated'],
  ];
  for (const [what, shown, headers, seen] of rows) {
    test(what, async () => {
      await using server = await open();
      assert.equal(await who(await server.started.http2(shown), headers), seen);
    });
  }
});

describe('a reload', () => {
  test('ends the trust in an authority on open connections, and on new ones', async () => {
    await using server = await open();
    const [session, chain, front] = [
      await server.started.http2(sent(jane)),
      await server.started.http2(sent(throughMiddle, middle)),
      await server.started.http2(sent(proxy)),
    ];
    const socket = await server.started.tls(sent(jane));
    assert.deepEqual([await who(session), await who(chain), await who1(socket)], [asJane, asJane, asJane]);
    server.reload('users', stranger.cert);
    assert.deepEqual([await who(session), await who(chain), await who1(socket)], ['401', '401', '401']);
    assert.equal(await who(await server.started.http2(sent(jane))), '401');
    assert.equal(await who(await server.started.http2(sent(unknown))), asJane);
    assert.equal(await who(front, forged), asRoot, 'the other pool stays');
    server.reload('proxies', stranger.cert);
    assert.equal(await who(front, forged), '401');
  });

  test('of a user authority that becomes one of proxies makes no user of a proxy', async () => {
    await using server = await open();
    const session = await server.started.http2(sent(jane));
    server.reload('proxies', users.cert);
    assert.equal(await who(session, forged), asJane, 'the name is not allowed to a proxy');
    server.reload('users', proxies.cert);
    assert.equal(await who(session), '401');
  });

  test('lets in who was refused, on the next connection', async () => {
    await using server = await open();
    const before = await server.started.http2(sent(unknown));
    assert.equal(await who(before), '401');
    const closed = once(before, 'close');
    server.reload('users', users.cert + stranger.cert);
    await closed;
    assert.equal(await who(await server.started.http2(sent(unknown))), asJane);
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`is not got round by a session of before (${version})`, async () => {
      await using server = await open();
      const options = { ...sent(throughMiddle, middle), minVersion: version, maxVersion: version };
      const first = await server.started.tls(options);
      const ticket = sessionOf(first);
      assert.equal(await who1(first), asJane);
      const session = await ticket;
      assert.equal(await who1(await server.started.tls({ ...options, session })), asJane);
      server.reload('users', stranger.cert);
      assert.equal(await who1(await server.started.tls({ ...options, session })), '401');
      const { cert: _cert, key: _key, ...withoutCertificate } = options;
      const bare = await server.started.tls({ ...withoutCertificate, session });
      assert.equal(await who1(bare), asNobody);
    });
  }

  test('that fails leaves what there was', async () => {
    await using server = await open();
    const session = await server.started.http2(sent(jane));
    assert.throws(() => server.reload('users', 'nonsense'));
    assert.equal(await who(session), asJane);
    assert.equal(await who(await server.started.http2(sent(jane))), asJane);
  });
});

describe('`Connection` must not list who asks', () => {
  for (const [listed, line, seen] of [
    ['X-Remote-User', 'X-Remote-User: root', '400'],
    ['close, x-remote-group', 'X-Remote-User: root', '400'],
    ['impersonate-user', 'Impersonate-User: bob', '400'],
    ['Impersonate-Extra-Scopes', 'accept: a', '400'],
    ['authorization', 'accept: a', '400'],
    ['keep-alive', 'X-Remote-User: root', 'root system:authenticated'],
  ] as const) {
    test(`${listed}: ${seen}`, async () => {
      await using server = await open();
      assert.equal(await who1(await server.started.tls(sent(proxy)), `Connection: ${listed}`, line), seen);
    });
  }

  test('in any of its lines', async () => {
    await using server = await open();
    const socket = await server.started.tls(sent(proxy));
    assert.equal(
      await who1(socket, 'Connection: keep-alive', 'connection: x-remote-user', 'x-remote-user: root'),
      '400',
    );
  });
});
