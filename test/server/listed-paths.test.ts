import assert from 'node:assert/strict';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Answer, openHttp2 } from '../support/raw-client.ts';

/** What `/` lists, and what every answer says of itself, over both protocols. */

let server: OrchProcess;
let session: ClientHttp2Session;
let paths: readonly string[];
before(async () => {
  server = await OrchProcess.start();
  session = await openHttp2(server);
  paths = (await server.get<{ paths: readonly string[] }>('/')).json.paths;
});
after(async () => {
  session?.destroy();
  await server[Symbol.asyncDispose]();
});

interface Answered {
  readonly status: number;
  readonly headers: Readonly<IncomingHttpHeaders>;
}

const protocols: Readonly<Record<string, (method: string, path: string) => Promise<Answered>>> = {
  'HTTP/1.1': (method, path) => server.request(method, path),
  'HTTP/2': (method, path) => http2Answer(session, { ':method': method, ':path': path }),
};

/** Documents for everybody, which may be kept; nothing else may. */
const issuers = ['/.well-known/openid-configuration', '/openid/v1/jwks'];
const cacheOf = (path: string): string => (issuers.includes(path) ? 'public, max-age=3600' : 'no-cache, private');

test('the list is sorted, names each path once, and has every kind of endpoint', () => {
  assert.deepEqual(paths, [...new Set(paths)].sort());
  const groups = ['authentication', 'authorization', 'coordination', 'rbac.authorization'];
  const expected = [
    ...issuers,
    ...['/api', '/api/v1', '/apis', '/apis/', '/metrics', '/version'],
    ...groups.flatMap((group) => [`/apis/${group}.orch.io`, `/apis/${group}.orch.io/v1`]),
    ...['/healthz', '/livez', '/readyz'].flatMap((path) => [path, `${path}/ping`]),
    ...['/openapi/v2', '/openapi/v3', '/openapi/v3/'],
  ];
  for (const path of expected) assert.ok(paths.includes(path), path);
});

test('every check of the health endpoints is in the list', async () => {
  for (const endpoint of ['/healthz', '/livez', '/readyz']) {
    const { text } = await server.get(`${endpoint}?verbose`);
    const names = [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name]) => `${endpoint}/${name}`);
    assert.ok(names.length > 0);
    assert.deepEqual(paths.filter((path) => path.startsWith(`${endpoint}/`)).sort(), names.sort());
  }
});

for (const [protocol, send] of Object.entries(protocols)) {
  describe(protocol, () => {
    test('every path of the list is served, and says once how it may be kept, and `nosniff`', async () => {
      for (const path of paths.filter((each) => each !== '/openapi/v3/')) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers } = await send(method, path);
          assert.equal(status, 200, path);
          assert.equal(headers['cache-control'], cacheOf(path), path);
          assert.equal(headers['x-content-type-options'], 'nosniff', path);
        }
      }
    });

    const others: readonly (readonly [method: string, path: string, status: number])[] = [
      ['GET', '/nosuch', 404],
      ['POST', '/version', 405],
      ['GET', '/api/v1/namespaces', 200],
      ['GET', '/api/v1/namespaces?watch=1&timeoutSeconds=1', 200],
      ['GET', '/api/v1/namespaces?watch=1&resourceVersion=nonsense', 400],
      ['GET', '/api/v1/namespaces/nosuch', 404],
      ['DELETE', '/api/v1/namespaces', 405],
      ['GET', '/openapi/v3/api/v1?hash=0', 301],
    ];
    for (const [method, path, status] of others) {
      test(`${method} ${path}: ${status}, and the same`, async () => {
        const answer = await send(method, path);
        assert.equal(answer.status, status);
        assert.equal(answer.headers['cache-control'], 'no-cache, private');
        assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      });
    }
  });
}
