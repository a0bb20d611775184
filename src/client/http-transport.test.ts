import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { ManualClock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { ensureAuthority, ensureIssued } from '../pki/ca.ts';
import { ApiClient } from './api-client.ts';
import { type HttpTransportOptions, httpTransport } from './http-transport.ts';
import type { ClientResponse } from './transport.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let directory: string;
let server: https.Server;
let handle: Handler = (_request, response) => response.end('{}');
let connections = 0;
let options: HttpTransportOptions;
const clock = new ManualClock();

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'transport-'));
  const files = (name: string) => ({
    certificate: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  });
  const context = { clock: systemClock, random: systemRandom };
  const authority = ensureAuthority(files('ca'), 'ca', context);
  const serving = ensureIssued(
    files('server'),
    authority,
    { subject: { commonName: 'server' }, use: 'serverAuth', hosts: ['api.example.com'] },
    context,
  );
  const client = ensureIssued(
    files('client'),
    authority,
    { subject: { commonName: 'me' }, use: 'clientAuth' },
    context,
  );
  server = https.createServer({
    cert: serving.certificatePem,
    key: serving.keyPem,
    ca: authority.certificatePem,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on('request', (request, response) => handle(request, response));
  server.on('secureConnection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  options = {
    clock,
    server: new URL(`https://127.0.0.1:${port}/prefix/`),
    authorities: authority.certificatePem,
    serverName: 'api.example.com',
    insecure: false,
    credential: { type: 'certificate', certificate: client.certificatePem, key: client.keyPem },
  };
});
after(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  rmSync(directory, { recursive: true });
});

const read = async ({ body }: ClientResponse): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

async function withTransport(
  more: Partial<HttpTransportOptions>,
  use: (transport: ReturnType<typeof httpTransport>) => Promise<void>,
): Promise<void> {
  const transport = httpTransport({ ...options, ...more });
  try {
    await use(transport);
  } finally {
    transport.close();
  }
}

it('sends what is asked, with the certificate, on one connection', async () => {
  const seen: unknown[] = [];
  handle = (request, response) => {
    const subject = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
    const { 'content-type': type, 'content-length': length, authorization } = request.headers;
    seen.push([request.method, request.url, subject, type, length, authorization]);
    request.pipe(response);
  };
  connections = 0;
  await withTransport({}, async (transport) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await transport.send({ method: 'POST', target: '/api/v1/x?y=z', headers, body: '{"a":"ä"}' });
    assert.deepEqual([answer.status, await read(answer)], [200, '{"a":"ä"}']);
    assert.equal(await read(await transport.send({ method: 'GET', target: '/b' })), '');
  });
  assert.deepEqual(seen, [
    ['POST', '/prefix/api/v1/x?y=z', 'me', 'application/json', '10', undefined],
    ['GET', '/prefix/b', 'me', undefined, undefined, undefined],
  ]);
  assert.equal(connections, 1);
});

it('sends a token; one from a file is read again after a minute', async () => {
  const seen: unknown[] = [];
  handle = (request, response) => {
    seen.push(request.headers.authorization);
    response.end();
  };
  await withTransport({ credential: { type: 'token', token: 't' } }, async (transport) => {
    await read(await transport.send({ method: 'GET', target: '/' }));
  });
  const file = join(directory, 'token');
  writeFileSync(file, 'one\n');
  await withTransport({ credential: { type: 'tokenFile', file } }, async (transport) => {
    const get = async () => read(await transport.send({ method: 'GET', target: '/' }));
    await get();
    writeFileSync(file, 'two\n');
    clock.advance(59_999);
    await get();
    clock.advance(1);
    await get();
  });
  assert.deepEqual(seen, ['Bearer t', 'Bearer one', 'Bearer one', 'Bearer two']);
});

it('does not follow redirects', async () => {
  let requests = 0;
  handle = (_request, response) => {
    requests += 1;
    response.writeHead(307, { location: '/elsewhere' }).end();
  };
  await withTransport({ credential: { type: 'token', token: 't' } }, async (transport) => {
    await assert.rejects(new ApiClient(transport, 'test').get('/'), /the server answered 307/);
  });
  assert.equal(requests, 1);
});

it('does not speak with a server that is somebody else', async () => {
  handle = () => assert.fail('nothing is sent');
  for (const more of [{ serverName: 'other.example.com' }, { authorities: undefined }]) {
    await withTransport(more, async (transport) => {
      await assert.rejects(transport.send({ method: 'GET', target: '/' }), /altnames|self-signed|unable to/);
    });
  }
});

it('speaks with anybody when told so', async () => {
  handle = (_request, response) => response.end('{}');
  await withTransport({ insecure: true, authorities: undefined, serverName: undefined }, async (transport) => {
    assert.equal((await transport.send({ method: 'GET', target: '/' })).status, 200);
  });
});

it('streams, and ends the request when the reader leaves', async () => {
  const closed = Promise.withResolvers<void>();
  handle = (_request, response) => {
    response.on('close', closed.resolve);
    response.write('{"type":"ADDED","object":{"metadata":{}}}\n');
  };
  await withTransport({}, async (transport) => {
    const watch = new ApiClient(transport, 'test').watch('/', { signal: new AbortController().signal });
    for await (const { type } of watch) {
      assert.equal(type, 'ADDED');
      break;
    }
    await closed.promise;
  });
});

for (const when of ['before', 'after'] as const) {
  it(`a signal ends a request ${when} its answer has begun`, async () => {
    const reached = Promise.withResolvers<void>();
    handle = (_request, response) => {
      if (when === 'after') response.write('x');
      reached.resolve();
    };
    await withTransport({}, async (transport) => {
      const stop = new AbortController();
      const done = transport.send({ method: 'GET', target: '/', signal: stop.signal }).then(read);
      await reached.promise;
      stop.abort(new Error('enough'));
      await assert.rejects(done, /aborted|enough/i);
      await assert.rejects(transport.send({ method: 'GET', target: '/', signal: stop.signal }), /enough/);
    });
  });

  it(`a server that falls silent ${when} its answer has begun`, async () => {
    handle = (_request, response) => {
      if (when === 'after') response.write('x');
    };
    await withTransport({ silenceMsMax: 50 }, async (transport) => {
      await assert.rejects(transport.send({ method: 'GET', target: '/' }).then(read), /silent|aborted/);
    });
  });
}

it('an answer that is cut off is an error', async () => {
  handle = (_request, response) => {
    response.write('half');
    setImmediate(() => response.destroy());
  };
  await withTransport({}, async (transport) => {
    await assert.rejects(transport.send({ method: 'GET', target: '/' }).then(read), /aborted|hang up|ECONNRESET/);
  });
});
