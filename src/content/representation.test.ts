import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import type { ByteSpan } from '../base/collections/byte-span.ts';
import { ManualClock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { CacheEntry } from '../cache/cache.ts';
import { decodeMessage } from '../codec/protobuf/decode.ts';
import { openEnvelope } from '../codec/protobuf/envelope.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { StatusError } from '../meta/status-error.ts';
import { RegistryFixture } from '../registry/registry-fixture.ts';
import type { ListReply } from '../registry/reply.ts';
import type { Negotiated } from './negotiation.ts';
import { type Presentation, Representation } from './representation.ts';

const path = '/api/v1/namespaces/n/configmaps';
const clock = new ManualClock();
const representation = new Representation(orch, clock);

let fixture: RegistryFixture;
before(async () => {
  fixture = await RegistryFixture.open({ clock });
  for (const name of ['a', 'b']) await fixture.call('POST', path, { metadata: { name }, data: { key: `of ${name}` } });
});
after(() => fixture[Symbol.asyncDispose]());

const client = { exchange: { signal: new AbortController().signal }, slice: new TimeSlice(clock) };

const negotiated = (more: Partial<Negotiated> = {}): Negotiated => ({
  format: 'json',
  as: 'object',
  metaVersion: 'meta.orch.io/v1',
  mediaType: 'application/json',
  pretty: false,
  ...more,
});

const presented = (more: Partial<Negotiated> = {}, query = ''): Presentation =>
  representation.presentation(negotiated(more), fixture.served(path).kind, new URLSearchParams(query));

const textOf = ({ memory, start, end }: ByteSpan): string => memory.toString('utf8', start, end);

async function bytesOf(name: string): Promise<Buffer> {
  const reply = await fixture.call('GET', `${path}/${name}`);
  assert.ok(reply.type === 'object');
  return reply.bytes;
}

async function listReply(query = ''): Promise<ListReply> {
  const reply = await fixture.call('GET', `${path}${query}`);
  assert.ok(reply.type === 'list');
  return reply;
}

/** The whole text of a list. */
async function listText(presentation: Presentation, query = ''): Promise<string> {
  const list = await representation.list(await listReply(query), presentation, client);
  if (list.type === 'pieces') return [...list.pieces].join('');
  return list.head + [...list.items].map(textOf).join(',') + list.tail;
}

describe('a list whose items are encoded off the event loop is the same', () => {
  for (const [what, more] of [
    ['JSON for people', { pretty: true }],
    ['YAML', { format: 'yaml' }],
    ['protobuf', { format: 'protobuf' }],
    ['a table', { as: 'Table' }],
    ['a table for people', { as: 'Table', pretty: true }],
    ['a table in YAML', { as: 'Table', format: 'yaml' }],
    ['metadata in YAML', { as: 'PartialObjectMetadataList', format: 'yaml' }],
    ['metadata in protobuf', { as: 'PartialObjectMetadataList', format: 'protobuf' }],
    ['CBOR', { format: 'cbor' }],
    ['a table in CBOR', { as: 'Table', format: 'cbor' }],
    ['metadata in CBOR', { as: 'PartialObjectMetadataList', format: 'cbor' }],
  ] as const) {
    for (const large of [['a'], ['b'], ['a', 'b']]) {
      test(`${what}, ${large.join(' and ')}`, async () => {
        const presentation = presented(more);
        const made: string[] = [];
        const elsewhere = ({ name, bytes }: CacheEntry) => {
          if (!large.includes(name)) return undefined;
          made.push(name);
          return Promise.resolve(representation.listItem(bytes, presentation));
        };
        const whole = async (options: object): Promise<string> => {
          const list = await representation.list(await listReply(), presentation, { ...client, ...options });
          assert.ok(list.type === 'pieces');
          const pieces = await Promise.all(list.pieces);
          return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString('latin1');
        };
        assert.equal(await whole({ elsewhere }), await whole({}));
        assert.deepEqual(made, large);
      });
    }
  }
});

describe('one object', () => {
  test('in JSON is the bytes that the cache holds, not a copy of them', async () => {
    const bytes = await bytesOf('a');
    assert.equal(representation.object(bytes, presented()), bytes);
  });

  for (const [what, more, read] of [
    ['in JSON for people', { pretty: true }, (text: string): unknown => JSON.parse(text)],
    ['in YAML', { format: 'yaml' }, (text: string): unknown => parse(text)],
  ] as const) {
    test(`${what} says the same`, async () => {
      const bytes = await bytesOf('a');
      const text = representation.object(bytes, presented(more)).toString();
      assert.deepEqual(read(text), JSON.parse(bytes.toString()));
      assert.ok(text.split('\n').length > 5 && text.endsWith('\n'), text);
    });
  }

  test('as a table has the columns of its kind and one row', async () => {
    const table = JSON.parse(representation.object(await bytesOf('a'), presented({ as: 'Table' })).toString());
    assert.deepEqual([table.kind, table.apiVersion], ['Table', 'meta.orch.io/v1']);
    assert.deepEqual(
      table.columnDefinitions.map(({ name }: { name: string }) => name),
      ['Name', 'Data', 'Age'],
    );
    assert.deepEqual(table.rows[0].cells.slice(0, 2), ['a', 1]);
    assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata');
  });

  test('as a table has the marks of its kind', () => {
    const { kind } = fixture.served('/api/v1/namespaces/n/pods');
    const ended = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, status: { phase: 'Failed' } };
    const presentation = representation.presentation(negotiated({ as: 'Table' }), kind, new URLSearchParams());
    const table = JSON.parse(representation.object(Buffer.from(JSON.stringify(ended)), presentation).toString());
    assert.deepEqual(
      table.rows[0].conditions.map(({ reason }: { reason: string }) => reason),
      ['Failed'],
    );
  });

  test('as metadata has the requested group and no data', async () => {
    const form = presented({ as: 'PartialObjectMetadata', metaVersion: 'meta.k8s.io/v1' });
    const object = JSON.parse(representation.object(await bytesOf('a'), form).toString());
    assert.deepEqual(Object.keys(object), ['kind', 'apiVersion', 'metadata']);
    assert.deepEqual([object.kind, object.apiVersion], ['PartialObjectMetadata', 'meta.k8s.io/v1']);
    assert.equal(object.metadata.name, 'a');
  });
});

test('in protobuf an object has the same content, in an envelope', async () => {
  const bytes = await bytesOf('a');
  const { apiVersion, kind, raw } = openEnvelope(representation.object(bytes, presented({ format: 'protobuf' })));
  assert.deepEqual([apiVersion, kind], ['v1', 'ConfigMap']);
  const value = decodeMessage(fixture.served(path).kind.schema, raw);
  const { apiVersion: _, kind: __, ...rest } = JSON.parse(bytes.toString());
  // The value also has fields that Kubernetes protobuf messages always carry.
  assert.partialDeepStrictEqual(JSON.parse(JSON.stringify(value)), rest);
});

describe('includeObject', () => {
  for (const [query, kind] of [
    ['', 'PartialObjectMetadata'],
    ['includeObject=Metadata', 'PartialObjectMetadata'],
    ['includeObject=Object', 'ConfigMap'],
    ['includeObject=None', undefined],
  ] as const) {
    test(query || 'nothing said', async () => {
      const table = JSON.parse(representation.object(await bytesOf('a'), presented({ as: 'Table' }, query)).toString());
      assert.equal(table.rows[0].object?.kind, kind);
    });
  }

  test('is validated for tables only', () => {
    const query = 'includeObject=nonsense';
    presented({}, query);
    assert.throws(
      () => presented({ as: 'Table' }, query),
      (error) => error instanceof StatusError && error.code === 400,
    );
  });
});

describe('a list', () => {
  test('in JSON passes through the bytes of its items', async () => {
    const reply = await listReply();
    const list = await representation.list(reply, presented(), client);
    assert.ok(list.type === 'items');
    const document = JSON.parse(await listText(presented()));
    assert.deepEqual([document.kind, document.apiVersion], ['ConfigMapList', 'v1']);
    assert.deepEqual(document.metadata, reply.metadata);
    const [first] = list.items;
    assert.ok(first);
    assert.equal((await bytesOf('a')).toString(), textOf(first));
    assert.deepEqual(
      document.items.map(({ data }: { data: unknown }) => data),
      [{ key: 'of a' }, { key: 'of b' }],
    );
  });

  test('without items is still a list', async () => {
    const query = '?labelSelector=nothing';
    for (const more of [{}, { pretty: true }, { format: 'yaml' }] as const) {
      const document = parse(await listText(presented(more), query));
      assert.deepEqual([document.kind, document.items], ['ConfigMapList', []]);
    }
    assert.deepEqual(JSON.parse(await listText(presented({ as: 'Table' }), query)).rows, []);
  });

  for (const as of ['object', 'Table', 'PartialObjectMetadataList'] as const) {
    test(`says the same in every format (${as})`, async () => {
      const plain = JSON.parse(await listText(presented({ as })));
      assert.deepEqual(parse(await listText(presented({ as, format: 'yaml' }))), plain);
      const pretty = await listText(presented({ as, pretty: true }));
      assert.deepEqual(JSON.parse(pretty), plain);
      assert.ok(pretty.split('\n').length > 10);
    });
  }

  test('of one page has a continue token, in every form', async () => {
    for (const as of ['object', 'Table', 'PartialObjectMetadataList'] as const) {
      const { metadata } = JSON.parse(await listText(presented({ as }), '?limit=1'));
      assert.equal(metadata.remainingItemCount, 1, as);
      assert.ok(metadata.continue, as);
    }
  });
});

describe('a watch', () => {
  const encoding = (more: Partial<Negotiated> = {}, query = '') =>
    representation.watchEncoding(fixture.served(path), presented(more, query));
  const entry = async () => {
    const [first] = (await listReply()).items;
    assert.ok(first);
    return first;
  };

  test('of whole objects passes the bytes through', async () => {
    const first = await entry();
    assert.equal(encoding().object(first, true), first.bytes);
    assert.equal(encoding().differsFirst, false);
  });

  test('of tables has columns in its first event only, and current ages', async () => {
    const first = await entry();
    const form = encoding({ as: 'Table' });
    assert.equal(form.differsFirst, true);
    const [told, next] = [true, false].map((isFirst) => JSON.parse(form.object(first, isFirst).toString()));
    assert.equal(told.columnDefinitions.length, 3);
    assert.equal(next.columnDefinitions, null);
    const age = (): unknown => JSON.parse(form.object(first, false).toString()).rows[0].cells[2];
    const before = age();
    clock.advance(3600_000);
    assert.notEqual(age(), before);
  });

  test('shares its encoding only with watches of the same options', () => {
    const forms = [
      encoding(),
      encoding({ format: 'protobuf' }),
      encoding({ as: 'PartialObjectMetadata' }),
      encoding({ as: 'PartialObjectMetadata', metaVersion: 'meta.k8s.io/v1' }),
      encoding({ as: 'Table' }),
      encoding({ as: 'Table' }, 'includeObject=Object'),
      encoding({ as: 'Table', metaVersion: 'meta.k8s.io/v1' }),
    ];
    assert.equal(new Set(forms.map(({ name }) => name)).size, forms.length);
    assert.equal(encoding({ as: 'Table' }).name, encoding({ as: 'Table' }, 'includeObject=Metadata').name);
  });

  test('has bookmarks of its kind with a resourceVersion', () => {
    assert.deepEqual(JSON.parse(String(encoding().bookmark(42, false))), {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: '42', creationTimestamp: null },
    });
  });

  for (const dialect of [orch, kubernetes]) {
    test(`marks the end of the initial events as the dialect does (${dialect.name})`, () => {
      const form = new Representation(dialect, clock).watchEncoding(fixture.served(path), presented());
      const { annotations } = JSON.parse(String(form.bookmark(42, true))).metadata;
      const { [dialect.initialEventsListAnnotation]: blueprint, ...others } = annotations;
      assert.deepEqual(others, { [dialect.initialEventsEndAnnotation]: 'true' });
      const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: {}, items: [] };
      assert.deepEqual(JSON.parse(Buffer.from(blueprint, 'base64').toString()), list);
    });
  }

  test('has bookmarks in its own format', () => {
    const table = JSON.parse(String(encoding({ as: 'Table' }).bookmark(42, true)));
    assert.deepEqual([table.kind, table.columnDefinitions, table.metadata.resourceVersion], ['Table', null, '42']);
    assert.equal(table.rows[0].object.metadata.annotations[orch.initialEventsEndAnnotation], 'true');
    const metadata = JSON.parse(String(encoding({ as: 'PartialObjectMetadata' }).bookmark(42, true)));
    assert.equal(metadata.kind, 'PartialObjectMetadata');
    const { annotations } = metadata.metadata;
    assert.equal(annotations[orch.initialEventsEndAnnotation], 'true');
    const blueprint = Buffer.from(annotations[orch.initialEventsListAnnotation], 'base64');
    assert.equal(JSON.parse(String(blueprint)).kind, 'PartialObjectMetadataList');
  });
});
