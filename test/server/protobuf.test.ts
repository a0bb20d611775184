import assert from 'node:assert/strict';
import https from 'node:https';
import { after, before, describe, test } from 'node:test';
import { once } from '../../src/base/waits-fixture.ts';
import { decodeMessage } from '../../src/codec/protobuf/decode.ts';
import { encodeEnvelope, openEnvelope } from '../../src/codec/protobuf/envelope.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { deleteOptions } from '../../src/kinds/meta/delete-options.ts';
import { discoveryDocuments } from '../../src/kinds/meta/discovery-documents.ts';
import { listSchema } from '../../src/kinds/meta/list-schema.ts';
import {
  partialObjectMetadata,
  partialObjectMetadataListV1beta1,
} from '../../src/kinds/meta/partial-object-metadata.ts';
import { status } from '../../src/kinds/meta/status.ts';
import {
  always,
  bytes as bytesSchema,
  int64,
  list,
  number,
  opt,
  type StructSchema,
  string,
  struct,
} from '../../src/schema/schema.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

const path = '/api/v1/namespaces/default/configmaps';
const [own, other] = ['application/vnd.orch.protobuf', 'application/vnd.kubernetes.protobuf'];
const asProtobuf = { accept: own, 'content-type': own };

const schemaOf = (name: string): StructSchema => {
  const found = kinds(dialects.orch).find(({ kind }) => kind === name);
  assert.ok(found);
  return found.schema;
};
const configMap = schemaOf('ConfigMap');

const typed = (name: string, fields: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...fields,
});
/** All that is left of a ConfigMap with fields it does not have. */
const kept = ['apiVersion', 'data', 'kind', 'metadata'];
const encoded = (object: ReturnType<typeof typed>): Buffer => encodeEnvelope(configMap, object);

interface Opened {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Record<string, unknown>;
  readonly [field: string]: unknown;
}

function open(schema: StructSchema, bytes: Uint8Array): Opened {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  const value = decodeMessage(schema, raw);
  return { kind, apiVersion, metadata: {}, ...value };
}

/** The Status of a refusal. */
const refusal = (answer: Answer): readonly [code: number, reason: unknown, message: string] => {
  const { kind, reason, message } = open(status, answer.bytes);
  assert.equal(kind, 'Status');
  return [answer.status, reason, String(message)];
};

/** A protobuf watch until `count` events have come. */
async function watchEvents(server: OrchProcess, query: string, count: number): Promise<Opened[]> {
  const options = { host: '127.0.0.1', port: server.port, agent: false as const, ...server.credentials };
  const request = https.get({ ...options, path: `${path}?watch=1&${query}`, headers: { accept: own } });
  try {
    const [response] = await once(request, 'response');
    assert.equal(response.headers['content-type'], `${own};stream=watch`);
    const events: Opened[] = [];
    let rest = Buffer.alloc(0);
    for await (const chunk of response) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
        const end = 4 + rest.readUInt32BE();
        events.push(openEvent(rest.subarray(4, end)));
        rest = rest.subarray(end);
      }
      if (events.length >= count) break;
    }
    return events;
  } finally {
    request.destroy();
  }
}

const rawExtension = struct('test.v1.Raw', 'Raw.', { raw: opt(1, bytesSchema(), 'Raw.') });
const watchEvent = struct('test.v1.WatchEvent', 'An event.', {
  type: opt(1, string(), 'Type.'),
  object: opt(2, rawExtension, 'Object.'),
});

function openEvent(bytes: Buffer): Opened {
  const { type, object } = decodeMessage(watchEvent, bytes) as { type: string; object: { raw: string } };
  return { ...open(configMap, Buffer.from(object.raw, 'base64')), type };
}

/** The same state again: the server writes objects of its own meanwhile. */
const exactly = (metadata: Readonly<Record<string, unknown>>): string =>
  `resourceVersion=${metadata['resourceVersion']}&resourceVersionMatch=Exact`;

describe('protobuf', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  test('an object is created, read, replaced and deleted', async () => {
    const created = await server.post(path, encoded(typed('one', { data: { a: 'b' } })), { headers: asProtobuf });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.headers['content-type'], own);
    const stored = open(configMap, created.bytes);
    assert.deepEqual([stored.kind, stored.apiVersion, stored['data']], ['ConfigMap', 'v1', { a: 'b' }]);
    const read = await server.get(`${path}/one`, { headers: { accept: other } });
    assert.equal(read.headers['content-type'], other);
    assert.deepEqual(open(configMap, read.bytes), stored);
    const { json } = await server.get(`${path}/one`);
    assert.equal((json['metadata'] as { uid: string }).uid, stored.metadata['uid']);

    const changed = encodeEnvelope(configMap, { ...stored, data: { a: 'c' } });
    const replaced = await server.put(`${path}/one`, changed, { headers: { 'content-type': other } });
    assert.deepEqual([replaced.status, replaced.json['data']], [200, { a: 'c' }]);
    const options = encodeEnvelope(deleteOptions, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: 'not this one' },
    });
    const kept = await server.request('DELETE', `${path}/one`, { body: options, headers: asProtobuf });
    assert.deepEqual(refusal(kept).slice(0, 2), [409, 'Conflict']);
    const gone = await server.delete(`${path}/one`, { headers: { accept: own } });
    assert.equal(open(status, gone.bytes)['status'], 'Success');
  });

  test('a list, whole and in part, and metadata only', async () => {
    const names = ['l1', 'l2', 'l3'];
    for (const name of names) {
      await server.post(path, { metadata: { name, labels: { list: 'this' } }, data: { name } });
    }
    const query = 'labelSelector=list%3Dthis';
    const listed = await server.get(`${path}?${query}`, { headers: { accept: `${own},application/json` } });
    const { kind, metadata, items } = open(listSchema(configMap), listed.bytes);
    const { json } = await server.get<{ metadata: object }>(`${path}?${query}&${exactly(metadata)}`);
    assert.equal(kind, 'ConfigMapList');
    assert.deepEqual(metadata, { selfLink: '', continue: '', ...json.metadata });
    assert.deepEqual(
      (items as { data: object }[]).map(({ data }) => data),
      names.map((name) => ({ name })),
    );
    const page = open(
      listSchema(configMap),
      (await server.get(`${path}?${query}&limit=2`, { headers: { accept: own } })).bytes,
    );
    assert.equal((page['items'] as unknown[]).length, 2);
    assert.equal(page.metadata['remainingItemCount'], undefined, 'it is not known with selectors');
    assert.notEqual(page.metadata['continue'], '');

    const accept = `${own};as=PartialObjectMetadataList;g=meta.orch.io;v=v1`;
    const partial = await server.get(`${path}?${query}`, { headers: { accept } });
    const opened = open(listSchema(partialObjectMetadata), partial.bytes);
    assert.deepEqual([opened.kind, opened.apiVersion], ['PartialObjectMetadataList', 'meta.orch.io/v1']);
    assert.equal((opened['items'] as unknown[]).length, 3);
  });

  test('metadata of the version before, whose list has other numbers', async () => {
    const accept = `${own};as=PartialObjectMetadataList;g=meta.orch.io;v=v1beta1`;
    const answer = await server.get(path, { headers: { accept } });
    const old = open(partialObjectMetadataListV1beta1, answer.bytes);
    const headers = { accept: accept.replace('v1beta1', 'v1') };
    const now = await server.get(`${path}?${exactly(old.metadata)}`, { headers });
    assert.equal(old.apiVersion, 'meta.orch.io/v1beta1');
    assert.ok((old['items'] as unknown[]).length > 0);
    assert.deepEqual({ ...old, apiVersion: 'meta.orch.io/v1' }, open(listSchema(partialObjectMetadata), now.bytes));
    const numbers = Object.values(partialObjectMetadataListV1beta1.fields).map(({ number }) => number);
    assert.deepEqual(numbers, [0, 0, 2, 1], 'as published: metadata was forgotten at first');
  });

  test('a watch: initial events, bookmark, changes', async () => {
    await server.post(path, { metadata: { name: 'w1', labels: { watch: 'this' } } });
    const start = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await watchEvents(server, `labelSelector=watch%3Dthis&${start}`, 2);
    assert.deepEqual(
      events.map(({ type, kind, metadata }) => [type, kind, metadata['name']]),
      [
        ['ADDED', 'ConfigMap', 'w1'],
        ['BOOKMARK', 'ConfigMap', ''],
      ],
    );
    const [, bookmark] = events;
    const annotations = bookmark?.metadata['annotations'] as Readonly<Record<string, string>>;
    assert.equal(annotations['orch.io/initial-events-end'], 'true');
    const blueprint = Buffer.from(annotations['orch.io/initial-events-list-blueprint'] ?? '', 'base64');
    const { kind, items = [] } = open(listSchema(configMap), blueprint);
    assert.deepEqual([kind, items], ['ConfigMapList', []]);
    await server.post(path, { metadata: { name: 'w2', labels: { watch: 'this' } } });
    await server.delete(`${path}/w2`);
    const since = `resourceVersion=${bookmark?.metadata['resourceVersion']}`;
    const later = await watchEvents(server, `labelSelector=watch%3Dthis&${since}`, 2);
    assert.deepEqual(
      later.map(({ type, metadata }) => [type, metadata['name']]),
      [
        ['ADDED', 'w2'],
        ['DELETED', 'w2'],
      ],
    );
  });

  test('tables are not in protobuf: the next type that the client takes', async () => {
    const accept = `${own};as=Table;g=meta.orch.io;v=v1,application/json;as=Table;g=meta.orch.io;v=v1`;
    const { json } = await server.get(path, { headers: { accept } });
    assert.equal(json['kind'], 'Table');
  });

  for (const mode of ['Strict', 'Warn', 'Ignore']) {
    test(`fields that the kind does not have are skipped, whatever their type: fieldValidation=${mode}`, async () => {
      const fields = struct('test.v1.Extra', 'Extra.', {
        ...configMap.fields,
        text: always(99, string(), 'Text.'),
        list: always(100, list(string()), 'List.'),
        count: always(101, int64(), 'Count.'),
        share: always(102, number(), 'Share.'),
        within: always(103, struct('test.v1.Within', 'Within.', { a: always(1, string(), 'A.') }), 'Within.'),
      });
      const extra = { text: 'x', list: ['y'], count: 7, share: 0.5, within: { a: 'z' } };
      const name = `extra-${mode.toLowerCase()}`;
      const body = encodeEnvelope(fields, typed(name, { data: { a: 'b' }, ...extra }));
      const answer = await server.post(`${path}?fieldValidation=${mode}`, body, { headers: asProtobuf });
      assert.deepEqual([answer.status, answer.headers['warning']], [201, undefined], answer.text);
      assert.deepEqual(open(configMap, answer.bytes)['data'], { a: 'b' });
      assert.deepEqual(Object.keys((await server.get(`${path}/${name}`)).json).sort(), kept);
    });
  }

  const valid = encoded(typed('bad'));
  const rows: readonly (readonly [why: string, body: Buffer, message: RegExp])[] = [
    ['JSON', Buffer.from('{"kind":"ConfigMap"}'), /must begin with the bytes 6b 38 73 00/],
    ['a cut off body', valid.subarray(0, -10), /cut off/],
    [
      'another kind',
      encodeEnvelope(schemaOf('Secret'), { ...typed('bad'), kind: 'Secret' }),
      /the kind in the data \("Secret"\)/,
    ],
    [
      'another version',
      encodeEnvelope(configMap, { ...typed('bad'), apiVersion: 'v2' }),
      /API version in the data \(v2\)/,
    ],
    [
      'a message of another kind',
      encodeEnvelope(status, { ...typed('bad'), reason: 'x', code: 7 }),
      /error decoding protobuf/,
    ],
    ['no name', encoded(typed('')), /name or generateName is required/],
  ];
  for (const [why, body, message] of rows) {
    test(`refused, with a Status in protobuf: ${why}`, async () => {
      const [code, , text] = refusal(await server.post(path, body, { headers: asProtobuf }));
      assert.ok(code === 400 || code === 422, String(code));
      assert.match(text, message);
    });
  }

  test('patches are not in protobuf', async () => {
    const patch = await server.request('PATCH', `${path}/x`, { body: valid, headers: { 'content-type': own } });
    assert.equal(patch.status, 415);
  });

  for (const [target, kind] of [
    ['/api', 'APIVersions'],
    ['/apis', 'APIGroupList'],
    ['/apis/coordination.orch.io', 'APIGroup'],
    ['/api/v1', 'APIResourceList'],
    ['/apis/coordination.orch.io/v1', 'APIResourceList'],
  ] as const) {
    test(`discovery in protobuf: ${target}`, async () => {
      for (const accept of [own, other]) {
        const answer = await server.get(target, { headers: { accept } });
        assert.deepEqual([answer.status, answer.headers['content-type']], [200, accept]);
        const schema = discoveryDocuments.get(kind);
        assert.ok(schema);
        assert.equal(open(schema, answer.bytes).kind, kind);
      }
    });
  }

  test('aggregated discovery in protobuf', async () => {
    const schema = discoveryDocuments.get('APIGroupDiscoveryList');
    assert.ok(schema);
    for (const version of ['v2', 'v2beta1']) {
      const accept = `${own};g=apidiscovery.orch.io;v=${version};as=APIGroupDiscoveryList`;
      const answer = await server.get('/apis', { headers: { accept: `${accept},application/json` } });
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, accept]);
      const { kind, apiVersion, items } = open(schema, answer.bytes);
      assert.deepEqual([kind, apiVersion], ['APIGroupDiscoveryList', `apidiscovery.orch.io/${version}`]);
      const groups = (items as readonly { readonly metadata: { readonly name: string } }[]).map(
        (each) => each.metadata.name,
      );
      assert.ok(groups.includes('coordination.orch.io'), String(groups));
    }
  });
});
