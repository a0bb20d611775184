import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Answer, openHttp2 } from '../support/raw-client.ts';

/** What answers look like (spec section 4.3), the same over both protocols. */

const collection = '/api/v1/namespaces/formats/configmaps';
const large = 'x'.repeat(200_000);

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

type Headers = Readonly<Record<string, string>>;
type Send = (path: string, headers?: Headers, method?: string) => Promise<Received>;

let server: OrchProcess;
let session: ClientHttp2Session;
before(async () => {
  server = await OrchProcess.start();
  session = await openHttp2(server);
  await server.post('/api/v1/namespaces', { metadata: { name: 'formats' } });
  for (const name of ['a', 'b']) {
    const body = { metadata: { name, labels: { of: 'test' } }, data: { key: `of ${name}` } };
    assert.equal((await server.post(collection, body)).status, 201);
  }
  const made = await server.post(collection, { metadata: { name: 'large', labels: { of: 'size' } }, data: { large } });
  assert.equal(made.status, 201, made.text);
});
after(async () => {
  session?.destroy();
  await server[Symbol.asyncDispose]();
});

const protocols: Readonly<Record<string, Send>> = {
  'HTTP/1.1': async (path, headers = {}, method = 'GET') => server.request(method, path, { headers }),
  'HTTP/2': async (path, headers = {}, method = 'GET') =>
    http2Answer(session, { ':path': path, ':method': method, accept: 'application/json', ...headers }),
};

const listOf = `${collection}?labelSelector=of%3Dtest`;
const as = (representation: string, group = 'meta.orch.io', type = 'application/json'): string =>
  `${type};as=${representation};g=${group};v=v1`;

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly items?: readonly Typed[];
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object: Typed | null }[];
  readonly columnDefinitions?: readonly { readonly name: string }[] | null;
  readonly data?: unknown;
}

const discovery = 'application/json;g=apidiscovery.orch.io;v=v2;as=APIGroupDiscoveryList';

/** What is compressed: every answer of GET but watches and metrics. */
const compressed: readonly (readonly [what: string, path: string, accept: string])[] = [
  ['a small object', `${collection}/a`, 'application/json'],
  ['a large object', `${collection}/large`, 'application/json'],
  ['a list', listOf, 'application/json'],
  ['a large list', collection, 'application/json'],
  ['a list in YAML', listOf, 'application/yaml'],
  ['a large list in protobuf', collection, 'application/vnd.orch.protobuf'],
  ['a table', collection, as('Table')],
  ['metadata', collection, as('PartialObjectMetadataList')],
  ['discovery', '/api/v1', 'application/json'],
  ['aggregated discovery', '/apis', discovery],
  ['the version', '/version', 'application/json'],
  ['OpenAPI', '/openapi/v2', 'application/json'],
  ['OpenAPI in protobuf', '/openapi/v2', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'],
];

/** What a client accepts: the type of the answer, and the kinds of one object and of a list in it. */
const formats: readonly (readonly [accept: string, type: string, one: string, list: string])[] = [
  ['application/json', 'application/json', 'v1 ConfigMap', 'v1 ConfigMapList'],
  ['*/*', 'application/json', 'v1 ConfigMap', 'v1 ConfigMapList'],
  ['application/yaml', 'application/yaml', 'v1 ConfigMap', 'v1 ConfigMapList'],
  ['text/html,application/yaml;q=0.9', 'application/yaml', 'v1 ConfigMap', 'v1 ConfigMapList'],
  [as('Table'), 'application/json', 'meta.orch.io/v1 Table', 'meta.orch.io/v1 Table'],
  [as('Table', 'meta.k8s.io'), 'application/json', 'meta.k8s.io/v1 Table', 'meta.k8s.io/v1 Table'],
  [
    as('Table', 'meta.orch.io', 'application/yaml'),
    'application/yaml',
    'meta.orch.io/v1 Table',
    'meta.orch.io/v1 Table',
  ],
  [
    `${as('PartialObjectMetadata')},${as('PartialObjectMetadataList')}`,
    'application/json',
    'meta.orch.io/v1 PartialObjectMetadata',
    'meta.orch.io/v1 PartialObjectMetadataList',
  ],
  [
    `${as('Table').replace('v=v1', 'v=v1beta1')},${as('Table')}`,
    'application/json',
    'meta.orch.io/v1beta1 Table',
    'meta.orch.io/v1beta1 Table',
  ],
  [
    `${as('Table')},${as('Table').replace('v=v1', 'v=v1beta1')}`,
    'application/json',
    'meta.orch.io/v1 Table',
    'meta.orch.io/v1 Table',
  ],
  [
    `${as('PartialObjectMetadata', 'meta.k8s.io')},${as('PartialObjectMetadataList', 'meta.k8s.io')}`.replaceAll(
      'v=v1',
      'v=v1beta1',
    ),
    'application/json',
    'meta.k8s.io/v1beta1 PartialObjectMetadata',
    'meta.k8s.io/v1beta1 PartialObjectMetadataList',
  ],
  [`${as('Nonsense')},application/json`, 'application/json', 'v1 ConfigMap', 'v1 ConfigMapList'],
];

const read = ({ headers, bytes }: Pick<Received, 'headers' | 'bytes'>): Typed =>
  headers['content-type'] === 'application/yaml' ? parse(bytes.toString()) : JSON.parse(bytes.toString());
const kindOf = ({ apiVersion, kind }: Typed): string => `${apiVersion} ${kind}`;

for (const [protocol, send] of Object.entries(protocols)) {
  describe(protocol, () => {
    for (const [accept, type, one, list] of formats) {
      test(`Accept: ${accept}`, async () => {
        const object = await send(`${collection}/a`, { accept });
        const objects = await send(listOf, { accept });
        for (const [answer, kind] of [
          [object, one],
          [objects, list],
        ] as const) {
          assert.equal(answer.status, 200);
          assert.equal(answer.headers['content-type'], type);
          assert.equal(answer.headers['cache-control'], 'no-cache, private');
          assert.equal(kindOf(read(answer)), kind);
        }
        const shown = read(objects);
        const names = shown.rows
          ? shown.rows.map(({ cells }) => cells[0])
          : shown.items?.map(({ metadata }) => metadata['name']);
        assert.deepEqual(names, ['a', 'b']);
        assert.match(String(shown.metadata['resourceVersion']), /^\d+$/);
      });
    }

    test('every format says the same of an object', async () => {
      const plain = read(await send(`${collection}/a`));
      assert.deepEqual(plain.data, { key: 'of a' });
      assert.deepEqual(read(await send(`${collection}/a`, { accept: 'application/yaml' })), plain);
      const metadata = read(await send(`${collection}/a`, { accept: as('PartialObjectMetadata') }));
      assert.deepEqual(metadata, {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.orch.io/v1',
        metadata: plain.metadata,
      });
      const table = read(await send(`${collection}/a?includeObject=Object`, { accept: as('Table') }));
      assert.deepEqual(table.rows?.[0]?.object, plain);
    });

    test('a table has columns, and beside each row what was asked for', async () => {
      for (const [query, kind] of [
        ['', 'PartialObjectMetadata'],
        ['&includeObject=Object', 'ConfigMap'],
        ['&includeObject=None', undefined],
      ] as const) {
        const table = read(await send(`${listOf}${query}`, { accept: as('Table') }));
        assert.deepEqual(
          table.columnDefinitions?.map(({ name }) => name),
          ['Name', 'Data', 'Age'],
        );
        assert.deepEqual(new Set(table.rows?.map(({ object }) => object?.kind)), new Set([kind]));
      }
    });

    test('a table of the version before says the same, its rows included', async () => {
      const path = await atOneVersion(listOf);
      const now = (await send(path, { accept: as('Table') })).bytes.toString();
      const old = (await send(path, { accept: as('Table').replace('v=v1', 'v=v1beta1') })).bytes.toString();
      assert.match(old, /"kind":"PartialObjectMetadata","apiVersion":"meta.orch.io\/v1beta1"/);
      // Ages go on between the two.
      const ageless = (text: string) => text.replaceAll(/"\d+s"/g, '"0s"');
      assert.equal(ageless(old).replaceAll('meta.orch.io/v1beta1', 'meta.orch.io/v1'), ageless(now));
    });

    test('an answer comes indented for people, and on one line for programs', async () => {
      for (const [path, headers, lines] of [
        [`${collection}/a`, {}, 'one'],
        [`${collection}/a?pretty=true`, {}, 'many'],
        [`${collection}/a?pretty=1`, {}, 'many'],
        [`${collection}/a?pretty=false`, { 'user-agent': 'curl/8' }, 'one'],
        [`${collection}/a`, { 'user-agent': 'curl/8' }, 'many'],
        [`${collection}/a`, { accept: 'application/json;pretty=1' }, 'many'],
        [listOf, { 'user-agent': 'curl/8' }, 'many'],
        [`${listOf}&pretty=true`, {}, 'many'],
        [`${collection}/nosuch?pretty=true`, {}, 'many'],
        [`${collection}/nosuch`, {}, 'one'],
        ['/version?pretty=true', { 'user-agent': 'curl/8' }, 'many'],
      ] as const) {
        const text = (await send(path, headers)).bytes.toString();
        assert.equal(
          text.trimEnd().split('\n').length > 1 ? 'many' : 'one',
          lines,
          `${path} ${JSON.stringify(headers)}`,
        );
        JSON.parse(text);
      }
    });

    /** Lists say which version of the store they show, which others change. */
    const atOneVersion = async (path: string): Promise<string> => {
      if (!path.startsWith(collection) || path.startsWith(`${collection}/`)) return path;
      const { metadata } = JSON.parse((await send(`${collection}?limit=1`)).bytes.toString()) as ApiObject;
      const mark = path.includes('?') ? '&' : '?';
      return `${path}${mark}resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
    };
    /** Every byte, but for the cells of tables that change each second. */
    const withoutAges = (bytes: Buffer): string => bytes.toString('latin1').replaceAll(/"(\d+m)?\d+s"/g, '"age"');
    for (const [what, asked, accept] of compressed) {
      test(`${what} is compressed for who takes gzip, and for no one else`, async () => {
        const headers = { accept };
        const path = await atOneVersion(asked);
        const plain = await send(path, headers);
        const packed = await send(path, { ...headers, 'accept-encoding': 'gzip' });
        assert.deepEqual([plain.status, packed.status], [200, 200], packed.bytes.toString('utf8', 0, 500));
        assert.equal(plain.headers['content-encoding'], undefined);
        assert.equal(packed.headers['content-encoding'], 'gzip');
        assert.match(String(packed.headers['vary']), /accept-encoding/i);
        assert.equal(withoutAges(gunzipSync(packed.bytes)), withoutAges(plain.bytes));
        if (plain.bytes.length > 100_000) assert.ok(packed.bytes.length < plain.bytes.length / 2);
        for (const taken of ['gzip;q=0.5', 'br, gzip', 'GZIP', '*']) {
          const answer = await send(path, { ...headers, 'accept-encoding': taken });
          assert.equal(answer.headers['content-encoding'], 'gzip', taken);
          assert.equal(withoutAges(gunzipSync(answer.bytes)), withoutAges(plain.bytes), taken);
        }
        for (const refused of ['gzip;q=0', 'identity', 'br', '*, gzip;q=0', '*;q=0']) {
          const answer = await send(path, { ...headers, 'accept-encoding': refused });
          assert.equal(answer.headers['content-encoding'], undefined, refused);
        }
      });
    }

    test('HEAD is GET without a body', async () => {
      for (const path of [
        `${collection}/a`,
        `${collection}/large`,
        listOf,
        collection,
        '/api/v1',
        '/version',
        `${collection}/nosuch`,
      ]) {
        for (const headers of [{}, { accept: 'application/yaml' }, { 'accept-encoding': 'gzip' }]) {
          const got = await send(path, headers);
          const head = await send(path, headers, 'HEAD');
          assert.equal(head.bytes.length, 0, path);
          assert.equal(head.status, got.status, path);
          for (const name of ['content-type', 'content-encoding', 'cache-control', 'etag']) {
            assert.equal(head.headers[name], got.headers[name], `${name} of ${path}`);
          }
          // A large list is streamed, so nobody knows its length before.
          if (head.headers['content-length'] !== undefined) {
            assert.equal(head.headers['content-length'], String(got.bytes.length), path);
          }
        }
      }
    });

    test('a document of discovery is sent once to who keeps it', async () => {
      for (const path of ['/api', '/apis', '/api/v1', '/apis/coordination.orch.io/v1', '/openapi/v2', '/openapi/v3']) {
        const first = await send(path);
        const etag = String(first.headers['etag']);
        const again = await send(path, { 'if-none-match': etag });
        assert.deepEqual([again.status, again.bytes.length, again.headers['etag']], [304, 0, etag], path);
        assert.equal((await send(path, { 'if-none-match': '"other"' })).status, 200, path);
      }
    });
  });
}

describe('a watch', () => {
  /** The first events of a watch that begins with the state, then of a change and a deletion. */
  async function eventsOf(
    accept: string,
    name: string,
  ): Promise<readonly { readonly type: string; readonly object: Typed }[]> {
    const controller = new AbortController();
    const headers = {
      ':path': `${collection}?watch=1&fieldSelector=metadata.name%3D${name}`,
      ':method': 'GET',
      accept,
    };
    await server.post(collection, { metadata: { name }, data: { key: '1' } });
    const stream = session.request(headers, { signal: controller.signal });
    stream.on('error', () => {}); // of the abort
    const events: { readonly type: string; readonly object: Typed }[] = [];
    let rest = '';
    for await (const chunk of stream.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        events.push(JSON.parse(line));
        if (events.length === 1) await server.put(`${collection}/${name}`, { metadata: { name }, data: { key: '2' } });
        if (events.length === 2) await server.delete(`${collection}/${name}`);
        if (events.length === 3) return events;
      }
    }
    throw new Error(`the watch ended after ${events.length} events`);
  }

  for (const [accept, kind] of [
    ['application/json', 'v1 ConfigMap'],
    ['application/json;stream=watch', 'v1 ConfigMap'],
    [as('Table'), 'meta.orch.io/v1 Table'],
    [as('PartialObjectMetadata'), 'meta.orch.io/v1 PartialObjectMetadata'],
  ] as const) {
    test(`Accept: ${accept}`, { timeout: 20_000 }, async () => {
      const events = await eventsOf(accept, `w${createHash('md5').update(accept).digest('hex').slice(0, 8)}`);
      assert.deepEqual(
        events.map(({ type, object }) => `${type} ${kindOf(object)}`),
        ['ADDED', 'MODIFIED', 'DELETED'].map((type) => `${type} ${kind}`),
      );
      const [first, ...later] = events.map(({ object }) => object.columnDefinitions);
      if (!kind.endsWith('Table')) return;
      assert.equal(first?.length, 3, 'the first event tells the columns');
      assert.deepEqual(later, [null, null], 'the others do not');
      const versions = events.map(({ object }) => Number(object.metadata['resourceVersion']));
      assert.ok(Number(versions[0]) < Number(versions[1]) && Number(versions[1]) < Number(versions[2]), `${versions}`);
    });
  }

  test('is not compressed', async () => {
    const path = `${collection}?watch=1&timeoutSeconds=1`;
    const answer = await http2Answer(session, { ':path': path, ':method': 'GET', 'accept-encoding': 'gzip' });
    assert.equal(answer.headers['content-encoding'], undefined);
    assert.equal(JSON.parse(answer.bytes.toString().split('\n')[0] ?? '').type, 'ADDED');
  });
});

describe('OpenAPI', () => {
  type Json = Readonly<Record<string, unknown>>;

  /** Every value of a key, however deep. */
  function* valuesOf(key: string, value: unknown): Generator<unknown> {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === key) yield inner;
      else yield* valuesOf(key, inner);
    }
  }

  /** What a reference within the document leads to. */
  const resolve = (document: Json, reference: string): unknown =>
    reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((at, step) => (at as Json | undefined)?.[step], document);

  function checkReferences(document: Json, schemas: unknown, least: number): void {
    // A field may have that name as well: a schema of JSON schemas has one.
    const references = new Set([...valuesOf('$ref', document)].filter((value) => typeof value === 'string'));
    assert.ok(references.size >= least, `only ${references.size} references`);
    for (const reference of references) assert.equal(typeof resolve(document, reference), 'object', reference);
    const used = new Set([...references].map((each) => each.split('/').at(-1)));
    const loose = Object.entries(schemas as Json).filter(
      // A kind is there for its own sake: clients look it up by its group, version and kind.
      ([name, schema]) => !used.has(name) && !('x-kubernetes-group-version-kind' in (schema as Json)),
    );
    assert.deepEqual(
      loose.map(([name]) => name),
      [],
      'a schema that nobody needs',
    );
  }

  test('the index names a document for each group and version, by the hash of its bytes', async () => {
    const index = await server.get<{ paths: Record<string, { serverRelativeURL: string }> }>('/openapi/v3');
    const groups = await server.get<{ groups: { versions: { groupVersion: string }[] }[] }>('/apis');
    const expected = groups.json.groups.flatMap(({ versions }) =>
      versions.flatMap(({ groupVersion }) => [`apis/${groupVersion}`, `apis/${groupVersion.split('/')[0]}`]),
    );
    const others = ['api', 'api/v1', 'apis', 'version', '.well-known/openid-configuration', 'openid/v1/jwks'];
    assert.deepEqual(new Set(Object.keys(index.json.paths)), new Set([...others, ...expected]));
    for (const [path, { serverRelativeURL }] of Object.entries(index.json.paths)) {
      const document = await server.get(serverRelativeURL);
      const hash = createHash('sha512').update(document.bytes).digest('hex').toUpperCase();
      assert.equal(serverRelativeURL, `/openapi/v3/${path}?hash=${hash}`);
      assert.equal(document.headers['etag'], `"${hash}"`);
    }
  });

  test('every reference of every document resolves', async () => {
    const index = await server.get<{ paths: Record<string, { serverRelativeURL: string }> }>('/openapi/v3');
    for (const [path, { serverRelativeURL }] of Object.entries(index.json.paths)) {
      const { json } = await server.get<Json & { components: { schemas: Json } }>(serverRelativeURL);
      assert.equal(json['openapi'], '3.0.0');
      checkReferences(json, json.components.schemas, /^apis?\/.*v\d/.test(path) ? 8 : 0);
    }
    const { json } = await server.get<Json & { definitions: Json }>('/openapi/v2');
    assert.equal(json['swagger'], '2.0');
    checkReferences(json, json.definitions, 100);
  });

  test('both versions describe the same operations', async () => {
    const index = await server.get<{ paths: Record<string, { serverRelativeURL: string }> }>('/openapi/v3');
    const idsOf = (document: Json): readonly string[] => [...valuesOf('operationId', document)].map(String).sort();
    const third: string[] = [];
    for (const { serverRelativeURL } of Object.values(index.json.paths)) {
      third.push(...idsOf((await server.get<Json>(serverRelativeURL)).json));
    }
    assert.deepEqual(third.sort(), idsOf((await server.get<Json>('/openapi/v2')).json));
    assert.ok(third.length > 80);
  });

  test('every path of the documents is served', async () => {
    const { json } = await server.get<{ paths: Record<string, Json> }>('/openapi/v2');
    for (const [path, operations] of Object.entries(json.paths)) {
      const get = operations['get'] as Json | undefined;
      if (!get) continue;
      if (String(get['x-kubernetes-action']).startsWith('watch')) {
        // A version that is none is refused by the watch itself, which would go on otherwise.
        const refused = await server.get(
          `${path.replace('{namespace}', 'formats').replace('{name}', 'a')}?resourceVersion=x`,
        );
        assert.equal(refused.status, 400, path);
        continue;
      }
      const answer = await server.get<{ message?: string }>(
        path.replace('{namespace}', 'formats').replace('{name}', 'nosuch'),
      );
      if (answer.status === 200) continue;
      assert.equal(answer.status, 404, path);
      assert.match(answer.json.message ?? '', /"nosuch" not found/, path);
    }
  });
});

test('writes are answered in the format that was asked for', async () => {
  const body = 'metadata:\n  name: yaml\ndata:\n  on: "off"\n';
  const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
  const created = await server.post(collection, body, { headers });
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(parse(created.text).data, { on: 'off' });
  const table = await server.put<Typed>(
    `${collection}/yaml`,
    { metadata: { name: 'yaml' } },
    { headers: { accept: as('Table') } },
  );
  assert.equal(table.json.kind, 'Table');
  const deleted = await server.delete(`${collection}/yaml`, { headers: { accept: 'application/yaml' } });
  assert.equal(parse(deleted.text).status, 'Success');
});

test('nothing is compressed while the feature is off', async () => {
  await using plain = await OrchProcess.start({ flags: ['--feature-gates=APIResponseCompression=false'] });
  await plain.post('/api/v1/namespaces', { metadata: { name: 'formats' } });
  await plain.post(collection, { metadata: { name: 'a', labels: { of: 'test' } }, data: { key: 'of a' } });
  await plain.post(collection, { metadata: { name: 'large' }, data: { large } });
  for (const [what, path, accept] of compressed) {
    const { status, headers } = await plain.get(path, { headers: { accept, 'accept-encoding': 'gzip' } });
    assert.deepEqual([status, headers['content-encoding']], [200, undefined], what);
  }
});
