import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Bad input from outside: each gets the right Status, and the server goes on serving. */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--token-auth-file=test/support/tokens.csv'] });
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const yaml = { 'content-type': 'application/yaml' };
const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...Array.from({ length: 8 }, (_, n) => {
    const [from, to] = [String.fromCharCode(97 + n), String.fromCharCode(98 + n)];
    return `${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`)}]`;
  }),
].join('\n');

interface Row {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: RequestOptions['as'];
  readonly code: number;
  readonly reason: string;
  readonly message?: RegExp;
}

const rows: readonly Row[] = [
  { what: 'broken JSON', body: '{"metadata":', code: 400, reason: 'BadRequest', message: /line 1 column/ },
  { what: 'data after the JSON', body: '{} {}', code: 400, reason: 'BadRequest' },
  {
    what: 'text that is not UTF-8',
    body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    code: 400,
    reason: 'BadRequest',
  },
  { what: 'broken YAML', body: 'a: [', headers: yaml, code: 400, reason: 'BadRequest' },
  { what: 'a YAML bomb', body: bomb, headers: yaml, code: 400, reason: 'BadRequest', message: /alias/ },
  { what: 'two YAML documents', body: 'a: 1\n---\nb: 2', headers: yaml, code: 400, reason: 'BadRequest' },
  {
    what: 'deep JSON',
    body: `{"data":${deep(100_000, '[', ']')}}`,
    code: 400,
    reason: 'BadRequest',
    message: /deep|nest/,
  },
  { what: 'deep YAML', body: `a: ${deep(10_000, '[', ']')}`, headers: yaml, code: 400, reason: 'BadRequest' },
  {
    what: 'wrong types',
    body: { metadata: { name: 'a' }, data: ['x'] },
    code: 400,
    reason: 'BadRequest',
    message: /data: expected/,
  },
  {
    what: 'a number as the name',
    body: { metadata: { name: 5 } },
    code: 400,
    reason: 'BadRequest',
    message: /metadata\.name/,
  },
  { what: 'a bad name', body: { metadata: { name: 'A_b' } }, code: 422, reason: 'Invalid', message: /metadata\.name/ },
  { what: 'no name', body: {}, code: 422, reason: 'Invalid', message: /name or generateName is required/ },
  {
    what: 'bad labels',
    body: { metadata: { name: 'a', labels: { 'x y': 'z' } } },
    code: 422,
    reason: 'Invalid',
    message: /metadata\.labels/,
  },
  {
    what: 'a missing required field',
    path: '/api/v1/namespaces/default/pods',
    body: { metadata: { name: 'a' }, spec: {} },
    code: 422,
    reason: 'Invalid',
    message: /spec\.containers: Required value/,
  },
  {
    what: 'a namespace that is not there',
    path: '/api/v1/namespaces/nowhere/configmaps',
    body: { metadata: { name: 'a' } },
    code: 404,
    reason: 'NotFound',
    message: /namespaces "nowhere" not found/,
  },
  {
    what: 'a body that is too large',
    body: Buffer.alloc(limits.bodyBytesMax + 1, 0x20),
    code: 413,
    reason: 'RequestEntityTooLarge',
  },
  {
    what: 'a body in an unknown format',
    body: 'x',
    headers: { 'content-type': 'text/plain' },
    code: 415,
    reason: 'UnsupportedMediaType',
    message: /application\/json/,
  },
  {
    what: 'a compressed body',
    body: 'x',
    headers: { 'content-encoding': 'gzip' },
    code: 415,
    reason: 'UnsupportedMediaType',
  },
  {
    what: 'an unknown patch format',
    method: 'PATCH',
    path: `${configMaps}/a`,
    body: '{}',
    headers: { 'content-type': 'application/json' },
    code: 415,
    reason: 'UnsupportedMediaType',
  },
  {
    what: 'formats that nobody has',
    method: 'GET',
    headers: { accept: 'image/png' },
    code: 406,
    reason: 'NotAcceptable',
    message: /application\/json/,
  },
  {
    what: 'a watch in a format that does not stream',
    method: 'GET',
    path: `${configMaps}?watch=1`,
    headers: { accept: 'image/png' },
    code: 406,
    reason: 'NotAcceptable',
    message: /stream=watch/,
  },
  { what: 'a path that is none', method: 'GET', path: '/nowhere', code: 404, reason: 'NotFound' },
  { what: 'a kind that is none', method: 'GET', path: '/api/v1/nonsense', code: 404, reason: 'NotFound' },
  { what: 'a group that is none', method: 'GET', path: '/apis/nonsense.io/v1', code: 404, reason: 'NotFound' },
  { what: 'a version that is none', method: 'GET', path: '/api/v2/configmaps', code: 404, reason: 'NotFound' },
  {
    what: 'a subresource that is none',
    method: 'GET',
    path: `${configMaps}/a/nonsense`,
    code: 404,
    reason: 'NotFound',
  },
  {
    what: 'an object that is not there',
    method: 'GET',
    path: `${configMaps}/nope`,
    code: 404,
    reason: 'NotFound',
    message: /configmaps "nope" not found/,
  },
  {
    what: 'a path that climbs',
    method: 'GET',
    path: '/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets',
    code: 404,
    reason: 'NotFound',
  },
  { what: 'POST to an object', path: `${configMaps}/a`, body: {}, code: 405, reason: 'MethodNotAllowed' },
  { what: 'PUT to a collection', method: 'PUT', body: {}, code: 405, reason: 'MethodNotAllowed' },
  { what: 'DELETE of a document', method: 'DELETE', path: '/version', code: 405, reason: 'MethodNotAllowed' },
  { what: 'a method that is none', method: 'PROPFIND', path: configMaps, code: 405, reason: 'MethodNotAllowed' },
  {
    what: 'a limit that is none',
    method: 'GET',
    path: `${configMaps}?limit=x`,
    code: 400,
    reason: 'BadRequest',
    message: /limit/,
  },
  ...['GET', 'POST', 'DELETE'].map((method) => ({
    what: `a time that is none, with ${method}`,
    method,
    path: `${configMaps}?timeout=abc`,
    body: method === 'POST' ? { metadata: { name: 'x' } } : undefined,
    code: 400,
    reason: 'BadRequest',
    message: /^invalid timeout specified in the request URL - time: invalid duration "abc"$/,
  })),
  { what: 'an empty limit', method: 'GET', path: `${configMaps}?limit=`, code: 400, reason: 'BadRequest' },
  {
    what: 'a value that an option does not take',
    path: `${configMaps}?dryRun=Some`,
    body: { metadata: { name: 'x' } },
    code: 422,
    reason: 'Invalid',
    message: /^CreateOptions\.meta\.orch\.io "" is invalid: dryRun: Unsupported value/,
  },
  {
    what: 'an option that is spelled otherwise',
    path: `${configMaps}?dryrun=All`,
    body: { metadata: { name: 'x' } },
    code: 400,
    reason: 'BadRequest',
    message: /did you mean "dryRun"/,
  },
  {
    what: 'a watch that is maybe one',
    method: 'GET',
    path: `${configMaps}?watch=maybe`,
    code: 400,
    reason: 'BadRequest',
    message: /watch/,
  },
  {
    what: 'a label selector that is none',
    method: 'GET',
    path: `${configMaps}?labelSelector=a%3D%3D%3Db`,
    code: 400,
    reason: 'BadRequest',
  },
  {
    what: 'a field that cannot be selected on',
    method: 'GET',
    path: `${configMaps}?fieldSelector=data.x%3D1`,
    code: 400,
    reason: 'BadRequest',
    message: /is not a known field selector/,
  },
  {
    what: 'a table that includes nonsense',
    method: 'GET',
    path: `${configMaps}?includeObject=All`,
    headers: { accept: 'application/json;as=Table;g=meta.orch.io;v=v1' },
    code: 400,
    reason: 'BadRequest',
  },
  { what: 'a token that nobody has', method: 'GET', as: { token: 'nonsense' }, code: 401, reason: 'Unauthorized' },
  {
    what: 'anonymous reading objects',
    method: 'GET',
    as: 'anonymous',
    code: 403,
    reason: 'Forbidden',
    message: /User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"/,
  },
  {
    what: 'a user writing',
    as: { token: 'secret-of-jane' },
    body: { metadata: { name: 'x' } },
    code: 403,
    reason: 'Forbidden',
    message: /User "jane" cannot create/,
  },
];

for (const { what, method = 'POST', path = configMaps, code, reason, message, ...options } of rows) {
  test(`${what}: ${code} ${reason}`, async () => {
    const answer = await server.request<{ kind: string; code: number; reason: string; message: string }>(
      method,
      path,
      options,
    );
    assert.equal(answer.status, code, answer.text);
    assert.deepEqual([answer.json.kind, answer.json.code, answer.json.reason], ['Status', code, reason]);
    if (message) assert.match(answer.json.message, message);
  });
}

test('an error comes in the format that the client asked for', async () => {
  const answer = await server.get(`${configMaps}/nope`, { headers: { accept: 'application/yaml' } });
  assert.equal(answer.headers['content-type'], 'application/yaml');
  assert.match(answer.text, /^reason: NotFound$/m);
});

test('a watch in YAML is refused, in YAML', async () => {
  const answer = await server.get(`${configMaps}?watch=1`, { headers: { accept: 'application/yaml' } });
  assert.equal(answer.status, 406);
  assert.match(answer.text, /^reason: NotAcceptable$/m);
});

test('what may be read by anyone, and by any user', async () => {
  const asJane = { token: 'secret-of-jane' };
  for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
    assert.equal((await server.get(path, { as: 'anonymous' })).status, 200, path);
    assert.equal((await server.get(path, { as: asJane })).status, 200, path);
  }
  for (const path of ['/api', '/apis', '/api/v1', '/openapi/v3', '/openapi/v2']) {
    assert.equal((await server.get(path, { as: 'anonymous' })).status, 403, path);
    assert.equal((await server.get(path, { as: asJane })).status, 200, path);
  }
});

test('a user of the token file may read what a role lets him', async () => {
  const as = { token: 'secret-of-jane' };
  assert.equal((await server.get(configMaps, { as })).status, 403);
  const roleRef = { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'view' };
  const subjects = [{ apiGroup: 'rbac.authorization.orch.io', kind: 'User', name: 'jane' }];
  const bindings = '/apis/rbac.authorization.orch.io/v1/clusterrolebindings';
  await server.post(bindings, { metadata: { name: 'jane' }, roleRef, subjects });
  await until(async () => (await server.get(configMaps, { as })).status === 200, 'the role is not heeded');
});

/** Sends raw bytes; gives what came back until the connection closed. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, ...server.credentials }, () => socket.write(bytes));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('error', () => {}); // a reset is an answer too
    socket.on('close', () => resolve(received));
  });
}

test('requests that are no HTTP are answered with 400 and closed', async () => {
  assert.match(await raw('NONSENSE\r\n\r\n'), /^(HTTP\/1\.1 400|$)/);
  assert.match(
    await raw(`GET /readyz HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`),
    /^HTTP\/1\.1 400/,
  );
  assert.match(
    await raw(`GET /readyz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(limits.headerBytesMax + 1024)}\r\n\r\n`),
    /^HTTP\/1\.1 431/,
  );
});

test('a protocol is never upgraded (CVE-2018-1002105)', async () => {
  const answer = await raw(
    'GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n',
  );
  assert.doesNotMatch(answer, /^HTTP\/1\.1 101/);
});

test('clients that go away in the middle cost nothing', async () => {
  const head = `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`;
  await Promise.all(
    Array.from({ length: 50 }, () => {
      const socket = connect({ host: '127.0.0.1', port: server.port, ...server.credentials });
      return new Promise<void>((resolve) => {
        socket.on('secureConnect', () => socket.write(head, () => socket.destroy()));
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
    }),
  );
  assert.equal((await server.get(configMaps)).status, 200);
});
