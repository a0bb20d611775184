import assert from 'node:assert/strict';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../base/time/clock.ts';
import { once } from '../base/waits-fixture.ts';
import type { ConnectionConfig } from './connection-config.ts';
import { describeFailure } from './describe-failure.ts';
import { bareWorld, type Handler, TlsFixture } from './tls-fixture.ts';
import { webhookSender } from './webhook-sender.ts';

/** Why a call has no answer. */
async function failureOf(connection: ConnectionConfig): Promise<string> {
  const sender = webhookSender(connection, { ...bareWorld, clock: systemClock, timeoutMs: 30_000, userAgent: 'test' });
  try {
    await sender.send('{}');
  } catch (error) {
    return describeFailure(error);
  } finally {
    sender.close();
  }
  return assert.fail('it has an answer');
}

const unverified = 'tls: failed to verify certificate: x509: ';

describe('a failure is told in the words of Go', () => {
  const server = new TlsFixture(['api.example.com', 'b.example.com']);
  const other = new TlsFixture(['127.0.0.2']);
  before(async () => {
    await server.listen();
    await other.listen();
  });
  after(async () => {
    await server.close();
    await other.close();
  });

  const rows: readonly (readonly [what: string, more: () => Partial<ConnectionConfig>, told: string])[] = [
    [
      'an unknown authority',
      () => ({ authorities: other.authorities }),
      `${unverified}certificate signed by unknown authority`,
    ],
    [
      'another name',
      () => ({ serverName: 'c.example.com' }),
      `${unverified}certificate is valid for api.example.com, b.example.com, not c.example.com`,
    ],
    [
      'no address in the certificate',
      () => ({ serverName: undefined }),
      `${unverified}cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs`,
    ],
    [
      'another address',
      () => ({ ...other.connection(), serverName: undefined }),
      `${unverified}certificate is valid for 127.0.0.2, not 127.0.0.1`,
    ],
    [
      'nobody listens',
      () => ({ server: new URL('https://127.0.0.1:9/') }),
      'dial tcp 127.0.0.1:9: connect: connection refused',
    ],
  ];
  for (const [what, more, told] of rows) {
    it(what, async () => assert.equal(await failureOf(server.connection('/', more())), told));
  }

  const raw =
    (text: string): Handler =>
    ({ socket }) =>
      void socket.end(text);
  const answers: readonly (readonly [what: string, handle: Handler, told: string])[] = [
    ['no answer', (_request, response) => void response.destroy(), 'EOF'],
    [
      'half an answer',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '2' }).write('{');
        setImmediate(() => response.destroy());
      },
      'unexpected error when reading response body. Please retry. Original error: unexpected EOF',
    ],
    [
      'another protocol',
      raw('220 mail.example.com\u001b\r\nmore\r\n'),
      'net/http: HTTP/1.x transport connection broken: malformed HTTP response "220 mail.example.com\\u001b"',
    ],
    [
      'a header without a name',
      raw('HTTP/1.1 200 OK\r\n: x\r\n\r\n'),
      'net/http: HTTP/1.x transport connection broken: malformed MIME header',
    ],
  ];
  for (const [what, handle, told] of answers) {
    it(what, async () => {
      server.handle = handle;
      assert.equal(await failureOf(server.connection()), told);
    });
  }

  it('the same by HTTP/2', async () => {
    await using held = new AsyncDisposableStack();
    const http2 = held.adopt(new TlsFixture(['api.example.com'], { protocols: ['h2'] }), (each) => each.close());
    await http2.listen();
    http2.handle = (_request, response) => {
      response.writeHead(200, { 'content-length': '2' }).write('{');
      setImmediate(() => http2.dropConnections());
    };
    const unread = 'unexpected error when reading response body. Please retry. Original error: unexpected EOF';
    assert.equal(await failureOf(http2.connection()), unread);
    http2.handle = (_request, response) =>
      void (response as unknown as Http2ServerResponse).stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(await failureOf(http2.connection()), 'stream error: INTERNAL_ERROR; received from peer');
  });

  it('another protocol that repeats the credential', async () => {
    server.handle = ({ socket, headers }) => void socket.end(`${headers.authorization}\r\n`);
    const credential = { type: 'stored', authorization: { type: 'token', token: 's3cr3t' } } as const;
    const told = await failureOf(server.connection('/', { credential }));
    assert.match(told, /malformed HTTP response "Bearer \*\*\*"$/);
  });

  it('no TLS', async () => {
    const plain = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const url = new URL(`https://127.0.0.1:${(plain.address() as AddressInfo).port}/`);
    assert.equal(
      await failureOf(server.connection('/', { server: url })),
      'tls: first record does not look like a TLS handshake',
    );
    plain.close();
    await once(plain, 'close');
  });
});

describe('a failure that depends on time or place', () => {
  const error = (message: string, more: object): Error => Object.assign(new Error(message), more);
  for (const [failure, told] of [
    [error('x', { code: 'CERT_HAS_EXPIRED' }), `${unverified}certificate has expired or is not yet valid`],
    [error('x', { code: 'CERT_NOT_YET_VALID' }), `${unverified}certificate has expired or is not yet valid`],
    [
      error('x', { code: 'ERR_TLS_CERT_ALTNAME_INVALID', host: 'a' }),
      `${unverified}certificate is not valid for any names, but wanted to match a`,
    ],
    [error('x', { code: 'ENOTFOUND', hostname: 'a.b' }), 'dial tcp: lookup a.b: no such host'],
    [error('x', { code: 'EHOSTUNREACH', address: '::1', port: 1 }), 'dial tcp [::1]:1: connect: no route to host'],
    [
      new AggregateError([error('x', { code: 'ECONNREFUSED', address: '::1', port: 1 })]),
      'dial tcp [::1]:1: connect: connection refused',
    ],
    [error('read ECONNRESET', { code: 'ECONNRESET' }), 'read: connection reset by peer'],
    [error('enough', { code: 'X' }), 'enough'],
    [error('enough', {}), 'enough'],
    ['enough', 'enough'],
  ] as const) {
    it(told, () => assert.equal(describeFailure(failure), told));
  }
});
