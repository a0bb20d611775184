import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { within } from '../base/waits-fixture.ts';
import type { ConnectionConfig, KeyPairPem } from '../outbound/connection-config.ts';
import { bareWorld, peerName, TlsFixture } from '../outbound/tls-fixture.ts';
import type { ClientResponse } from '../outbound/transport.ts';
import { ApiClient } from './api-client.ts';
import { type HttpTransportOptions, httpTransport } from './http-transport.ts';

let server: TlsFixture;
let certificate: KeyPairPem;
const clock = new ManualClock();

before(async () => {
  server = new TlsFixture();
  certificate = server.issue('me');
  await server.listen();
});
after(async () => server.close());

const read = async ({ body }: ClientResponse): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

async function withTransport(
  more: Partial<ConnectionConfig & HttpTransportOptions>,
  use: (transport: ReturnType<typeof httpTransport>) => Promise<void>,
): Promise<void> {
  const { silenceMsMax, ...connection } = more;
  const transport = httpTransport(server.connection('/prefix/', connection), {
    clock,
    ...bareWorld,
    ...(silenceMsMax !== undefined && { silenceMsMax }),
  });
  try {
    await use(transport);
  } finally {
    transport.close();
  }
}

/** The headers of this name on requests sent with impersonation. */
async function headersSent(more: Partial<ConnectionConfig>, headers?: Readonly<Record<string, string>>) {
  const seen: NodeJS.Dict<string | string[]>[] = [];
  server.handle = (request, response) => {
    seen.push(request.headersDistinct);
    response.end();
  };
  await withTransport(more, async (transport) => {
    await read(await transport.send({ method: 'GET', target: '/', ...(headers && { headers }) }));
  });
  return seen[0] ?? {};
}

const get = async (transport: ReturnType<typeof httpTransport>): Promise<number> => {
  const response = await transport.send({ method: 'GET', target: '/' });
  await read(response);
  return response.status;
};

it('sends requests with the client certificate on one connection', async () => {
  const seen: unknown[] = [];
  server.handle = (request, response) => {
    const { 'content-type': type, 'content-length': length, authorization } = request.headers;
    seen.push([request.method, request.url, peerName(request), type, length, authorization]);
    request.pipe(response);
  };
  server.connections = 0;
  await withTransport({ credential: { type: 'stored', certificate } }, async (transport) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await transport.send({ method: 'POST', target: '/api/v1/x?y=z', headers, body: '{"a":"ä"}' });
    assert.deepEqual([answer.status, await read(answer)], [200, '{"a":"ä"}']);
    assert.equal(await read(await transport.send({ method: 'GET', target: '/b' })), '');
  });
  assert.deepEqual(seen, [
    ['POST', '/prefix/api/v1/x?y=z', 'me', 'application/json', '10', undefined],
    ['GET', '/prefix/b', 'me', undefined, undefined, undefined],
  ]);
  assert.equal(server.connections, 1);
});

it('sends a bearer token or basic credentials', async () => {
  for (const [authorization, expected] of [
    [{ type: 'token', token: 't' }, 'Bearer t'],
    [{ type: 'basic', username: 'jürgen', password: 'a:b' }, `Basic ${Buffer.from('jürgen:a:b').toString('base64')}`],
  ] as const) {
    const headers = await headersSent({ credential: { type: 'stored', authorization } });
    assert.deepEqual(headers['authorization'], [expected]);
  }
});

it('sends impersonation headers', async () => {
  const extra = { 'example.com/Scopes%': ['one', 'two'], ä: ['ö'] };
  const headers = await headersSent({ impersonation: { user: 'jürgen', uid: '7', groups: ['a', 'b'], extra } });
  const latin1 = (text: string) => Buffer.from(text).toString('latin1');
  assert.deepEqual(
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('impersonate-'))),
    Object.fromEntries([
      ['impersonate-user', [latin1('jürgen')]],
      ['impersonate-uid', ['7']],
      ['impersonate-group', ['a', 'b']],
      ['impersonate-extra-example.com%2fscopes%25', ['one', 'two']],
      ['impersonate-extra-%c3%a4', [latin1('ö')]],
    ]),
  );
});

it('a token file is reread after a minute, and when the server rejects the token', async () => {
  const seen: unknown[] = [];
  server.handle = (request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(request.headers.authorization === 'Bearer two' ? 401 : 200).end();
  };
  const file = join(server.directory, 'token');
  const authorization = { type: 'tokenFile', file, token: undefined } as const;
  await withTransport({ credential: { type: 'stored', authorization } }, async (transport) => {
    await assert.rejects(get(transport), /ENOENT/);
    writeFileSync(file, 'one\n');
    await get(transport);
    writeFileSync(file, 'two\n');
    clock.advance(limits.credentialFileMs - 1);
    await get(transport);
    clock.advance(1);
    assert.equal(await get(transport), 401);
    writeFileSync(file, 'three\n');
    assert.equal(await get(transport), 200);
    // The file is being written: the previously read content stays in use.
    writeFileSync(file, '');
    clock.advance(limits.credentialFileMs);
    await get(transport);
    rmSync(file);
    clock.advance(limits.credentialFileMs);
    await get(transport);
  });
  const tokens = ['one', 'one', 'two', 'two', 'three', 'three', 'three'];
  assert.deepEqual(
    seen,
    tokens.map((token) => `Bearer ${token}`),
  );
});

it('a static token is used while the token file does not exist', async () => {
  const authorization = { type: 'tokenFile', file: join(server.directory, 'none'), token: 't' } as const;
  const headers = await headersSent({ credential: { type: 'stored', authorization } });
  assert.deepEqual(headers['authorization'], ['Bearer t']);
});

it('a renewed certificate is used on new connections; old ones close after their requests', async () => {
  const seen: unknown[] = [];
  const held = Promise.withResolvers<void>();
  server.handle = (request, response) => {
    seen.push(peerName(request));
    if (request.url === '/prefix/slow') {
      response.write('begun');
      held.promise.then(() => response.end());
    } else response.end();
  };
  server.connections = 0;
  const folder = join(server.directory, 'pair');
  mkdirSync(folder);
  const certificateFiles = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  const write = (pair: KeyPairPem): void => {
    writeFileSync(certificateFiles.certificate, pair.certificate);
    writeFileSync(certificateFiles.key, pair.key);
  };
  write(certificate);
  const renewed = server.issue('renewed');
  await withTransport({ credential: { type: 'stored', certificate, certificateFiles } }, async (transport) => {
    await get(transport);
    const slow = await transport.send({ method: 'GET', target: '/slow' });
    writeFileSync(certificateFiles.certificate, renewed.certificate);
    clock.advance(limits.credentialFileMs);
    // The key does not exist yet.
    await get(transport);
    assert.equal(server.connections, 2);
    write(renewed);
    clock.advance(limits.credentialFileMs);
    await get(transport);
    await get(transport);
    held.resolve();
    assert.equal(await read(slow), 'begun');
  });
  assert.deepEqual(seen, ['me', 'me', 'me', 'renewed', 'renewed']);
  assert.equal(server.connections, 3);
});

it('long-running requests with a replaced certificate are ended', async () => {
  server.handle = (request, response) => {
    if (request.url === '/prefix/watch') response.write('begun');
    else response.end();
  };
  const certificateFiles = { certificate: join(server.directory, 'me.crt'), key: join(server.directory, 'me.key') };
  const other = server.issue('me-before');
  await withTransport({ credential: { type: 'stored', certificate: other, certificateFiles } }, async (transport) => {
    const stored = { certificate: other.certificate, key: other.key };
    writeFileSync(certificateFiles.certificate, stored.certificate);
    writeFileSync(certificateFiles.key, stored.key);
    const watch = read(await transport.send({ method: 'GET', target: '/watch' }));
    writeFileSync(certificateFiles.certificate, certificate.certificate);
    writeFileSync(certificateFiles.key, certificate.key);
    clock.advance(limits.credentialFileMs);
    await get(transport);
    clock.advance(limits.retiredConnectionsMs);
    await assert.rejects(watch, /aborted|hang up/);
  });
  assert.equal(clock.pending, 0);
});

it('a repeatable request survives a keep-alive connection closed by the server', async () => {
  const used = new WeakSet<object>();
  server.handle = (request, response) => {
    if (used.has(request.socket)) request.socket.destroy();
    else response.end();
    used.add(request.socket);
  };
  await withTransport({}, async (transport) => {
    await Promise.all([get(transport), get(transport)]);
    assert.equal(await get(transport), 200);
    await assert.rejects(transport.send({ method: 'POST', target: '/', body: '{}' }), /hang up|ECONNRESET/);
  });
});

it('does not follow redirects', async () => {
  let requests = 0;
  server.handle = (_request, response) => {
    requests += 1;
    response.writeHead(307, { location: '/elsewhere' }).end();
  };
  await withTransport({}, async (transport) => {
    await assert.rejects(new ApiClient(transport, 'test').get('/'), /the server answered 307/);
  });
  assert.equal(requests, 1);
});

it('rejects a server with the wrong identity', async () => {
  server.handle = () => assert.fail('nothing is sent');
  for (const more of [{ serverName: 'other.example.com' }, { authorities: undefined }]) {
    await withTransport(more, async (transport) => {
      await assert.rejects(transport.send({ method: 'GET', target: '/' }), /altnames|self-signed|unable to/);
    });
  }
});

it('skips verification if configured to', async () => {
  server.handle = (_request, response) => response.end('{}');
  await withTransport({ insecure: true, authorities: undefined, serverName: undefined }, async (transport) => {
    assert.equal((await transport.send({ method: 'GET', target: '/' })).status, 200);
  });
});

it('streams, and ends the request when the reader stops', async () => {
  const closed = Promise.withResolvers<void>();
  server.handle = (_request, response) => {
    response.on('close', closed.resolve);
    response.write('{"type":"ADDED","object":{"metadata":{}}}\n');
  };
  await withTransport({}, async (transport) => {
    const watch = new ApiClient(transport, 'test').watch('/', { signal: new AbortController().signal });
    for await (const { type } of watch) {
      assert.equal(type, 'ADDED');
      break;
    }
    await within(closed.promise, 'closed: never');
  });
});

for (const when of ['before', 'after'] as const) {
  it(`a signal ends a request ${when} its answer has begun`, async () => {
    const reached = Promise.withResolvers<void>();
    server.handle = (_request, response) => {
      if (when === 'after') response.write('x');
      reached.resolve();
    };
    await withTransport({}, async (transport) => {
      const stop = new AbortController();
      const done = transport.send({ method: 'GET', target: '/', signal: stop.signal }).then(read);
      await within(reached.promise, 'reached: never');
      stop.abort(new Error('enough'));
      await assert.rejects(done, /aborted|enough/i);
      await assert.rejects(transport.send({ method: 'GET', target: '/', signal: stop.signal }), /enough/);
    });
  });

  it(`a server that falls silent ${when} its answer has begun`, async () => {
    server.handle = (_request, response) => {
      if (when === 'after') response.write('x');
    };
    await withTransport({ silenceMsMax: 50 }, async (transport) => {
      await assert.rejects(transport.send({ method: 'GET', target: '/' }).then(read), /silent|aborted/);
    });
  });
}

it('a truncated response is an error', async () => {
  server.handle = (_request, response) => {
    response.write('half');
    setImmediate(() => response.destroy());
  };
  await withTransport({}, async (transport) => {
    await assert.rejects(transport.send({ method: 'GET', target: '/' }).then(read), /aborted|hang up|ECONNRESET/);
  });
});
