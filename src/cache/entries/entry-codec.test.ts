import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeObject } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type SelectableField, selectable } from '../../meta/selectable-field.ts';
import { isStoreError, type StoreRecord } from '../../store/store.ts';
import { configMap, configMaps, keyOf, nodes, parsed } from '../cache-fixture.ts';
import { entryRoom, objectCodec } from './entry-codec.ts';

const codec = objectCodec(configMaps);
const corrupt = (error: unknown): boolean => isStoreError(error, 'corrupt');

test('an entry has the bytes sent to clients and the values that selectors read', () => {
  const value = configMap('a', { namespace: 'ns', labels: { app: 'web', 'orch.io/é': 'ü"\\', ['__proto__']: 'own' } });
  const entry = codec.decode({ key: keyOf('a', 'ns'), value, revision: 42 });
  const { namespace, name, revision } = entry;
  assert.deepEqual({ namespace, name, revision }, { namespace: 'ns', name: 'a', revision: 42 });
  const object = JSON.parse(value.toString());
  const expected = { ...object, metadata: { resourceVersion: '42', ...object.metadata } };
  assert.equal(entry.bytes.toString(), JSON.stringify(expected));
  assert.equal(entry.label('app'), 'web');
  assert.equal(entry.label('orch.io/é'), 'ü"\\');
  assert.equal(entry.label('__proto__'), Object.hasOwn(object.metadata.labels, '__proto__') ? 'own' : undefined);
  assert.equal(entry.label('constructor'), undefined);
  assert.equal(entry.label('web'), undefined);
  assert.equal(entry.field('metadata.name'), 'a');
  assert.equal(entry.field('metadata.namespace'), 'ns');
  assert.equal(entry.field('spec.none'), undefined);
});

test('cluster-scoped objects have no namespace', () => {
  const entry = objectCodec(nodes).decode({ key: '/core/nodes/n1', value: configMap('n1'), revision: 1 });
  assert.deepEqual([entry.namespace, entry.name], ['', 'n1']);
});

test('selectable fields are read from the bytes', () => {
  const spec = {
    text: 'a "\\ü',
    yes: true,
    no: false,
    number: -1.5,
    none: null,
    object: {},
    list: [{ a: 'b' }, { a: 'c' }],
  };
  const rows: readonly (readonly [SelectableField, string])[] = [
    [selectable('kind'), 'ConfigMap'],
    [selectable('spec.text'), spec.text],
    [selectable('spec.yes'), 'true'],
    [selectable('spec.no', { absent: 'x' }), 'false'],
    [selectable('spec.number'), '-1.5'],
    [selectable('spec.none', { absent: 'x' }), 'x'],
    [selectable('spec.object'), ''],
    [selectable('spec.list'), ''],
    [selectable('spec.missing'), ''],
    [selectable('spec.missing.too', { absent: 'false' }), 'false'],
    [selectable('second', { at: ['spec.list[1].a'] }), 'c'],
    [selectable('fourth', { at: ['spec.list[3].a'] }), ''],
    [selectable('either', { at: ['spec.missing', 'spec.text'] }), spec.text],
  ];
  const fields = objectCodec({ ...configMaps, selectableFields: rows.map(([field]) => field) });
  const value = encodeObject({ ...parsed(configMap('a')), spec } as unknown as ApiObject);
  const entry = fields.decode({ key: keyOf('a'), value, revision: 1 });
  for (const [{ label }, expected] of rows) {
    assert.equal(entry.field(label), expected, label);
    assert.equal(fields.restamp(entry, 2).field(label), expected, label);
  }
  assert.equal(entry.field('spec.other'), undefined);
});

test('selectable fields are those of each object, whatever the object before has', () => {
  const fields = objectCodec({ ...configMaps, selectableFields: [selectable('spec.a', { at: ['spec.a', 'spec.b'] })] });
  const read = (spec: object): string | undefined => {
    const value = encodeObject({ ...parsed(configMap('a')), spec } as unknown as ApiObject);
    return fields.decode({ key: keyOf('a'), value, revision: 1 }).field('spec.a');
  };
  const long = 'x'.repeat(100);
  for (const [spec, expected] of [
    [{ a: 'one' }, 'one'],
    [{ a: 'one' }, 'one'],
    [{ a: 'two' }, 'two'],
    [{ a: 'twofold' }, 'twofold'],
    [{}, ''],
    [{ a: 'two' }, 'two'],
    [{ b: 'two' }, 'two'],
    [{ a: '', b: 'two' }, 'two'],
    [{ a: '', b: 'one' }, 'one'],
    [{ a: true }, 'true'],
    [{ a: 'true' }, 'true'],
    [{ a: long }, long],
    [{ a: `${long.slice(1)}y` }, `${long.slice(1)}y`],
    [{ a: {} }, ''],
    [{ a: [] }, ''],
  ] as const) {
    assert.equal(read(spec), expected, JSON.stringify(spec));
  }
});

test('a restamped entry is the same state at another version', () => {
  for (const [from, to] of [
    [9, 10],
    [1_000, 1_001],
    [7, 123_456_789],
  ] as const) {
    const entry = codec.decode({ key: keyOf('a'), value: configMap('a', { labels: { a: 'b' } }), revision: from });
    const later = codec.restamp(entry, to);
    const expected = codec.decode({ key: keyOf('a'), value: configMap('a', { labels: { a: 'b' } }), revision: to });
    assert.equal(later.bytes.toString(), expected.bytes.toString());
    assert.equal(parsed(later.bytes).metadata.resourceVersion, String(to));
    assert.equal(later.revision, to);
    assert.equal(later.label('a'), 'b');
    assert.equal(parsed(entry.bytes).metadata.resourceVersion, String(from));
  }
});

test('an entry does not retain the value it was decoded from', () => {
  const message = Buffer.concat([Buffer.alloc(1_000), configMap('a', { labels: { a: 'b' } }), Buffer.alloc(1_000)]);
  const entry = codec.decode({ key: keyOf('a'), value: message.subarray(1_000, -1_000), revision: 1 });
  const before = entry.bytes.toString();
  message.fill(0);
  assert.equal(entry.bytes.toString(), before);
  assert.equal(entry.label('a'), 'b');
  // Nor does it retain part of a larger buffer.
  assert.equal(entry.bytes.buffer.byteLength, entry.bytes.length);
});

/** A record as a store gives it that leaves room: among other bytes, `more` bytes more than it was asked for. */
function withRoom(record: StoreRecord, more = 0): StoreRecord & { readonly memory: Buffer } {
  const { value, revision } = record;
  const end = 100 + entryRoom + String(revision).length + more;
  const memory = Buffer.alloc(end + value.length + 100, '#');
  memory.set(value, end);
  const room = { memory, start: 100, end };
  return { ...record, value: memory.subarray(end, end + value.length), room, memory };
}

test('an entry stays where its value lies, if that has room for the resourceVersion and a comma', () => {
  const value = configMap('a', { labels: { app: 'web' }, data: 'x'.repeat(50) });
  for (const revision of [1, 9, 10, 123_456, 2 ** 31, 10 ** 15, Number.MAX_SAFE_INTEGER]) {
    const record = withRoom({ key: keyOf('a'), value, revision });
    const expected = codec.decode({ key: keyOf('a'), value, revision });
    const entry = codec.decode(record);
    assert.equal(entry.bytes.toString(), expected.bytes.toString());
    assert.equal(entry.memory, record.memory);
    assert.deepEqual([entry.start, entry.end], [101, record.memory.length - 100]);
    assert.equal(entry.label('app'), 'web');
    assert.equal(codec.restamp(entry, 7).bytes.toString(), codec.restamp(expected, 7).bytes.toString());
    const around = `${record.memory.toString('latin1', 0, 101)}${record.memory.toString('latin1', entry.end)}`;
    assert.equal(around, `${'#'.repeat(100)},${'#'.repeat(100)}`);
  }
});

test('values without exactly that room are copied, and left as they are', () => {
  const plain = { key: keyOf('a'), value: configMap('a', { labels: { app: 'web' } }), revision: 42 };
  const expected = codec.decode(plain).bytes.toString();
  for (const more of [-1, 1]) {
    const record = withRoom(plain, more);
    const before = record.memory.toString();
    const entry = codec.decode(record);
    assert.equal(entry.bytes.toString(), expected);
    assert.notEqual(entry.memory, record.memory);
    assert.equal(record.memory.toString(), before);
  }
  const normalise = (): Buffer => configMap('b');
  const record = withRoom(plain);
  const before = record.memory.toString();
  assert.equal(parsed(objectCodec({ ...configMaps, normalise }).decode(record).bytes).metadata.name, 'b');
  assert.equal(record.memory.toString(), before);
  const broken = withRoom({ ...plain, value: configMap('a', { labels: { a: 1 as unknown as string } }) });
  const unread = broken.memory.toString();
  assert.throws(() => codec.decode(broken), corrupt);
  assert.equal(broken.memory.toString(), unread);
});

test('values that are not stored objects', () => {
  const values = [
    Buffer.alloc(0),
    Buffer.from('nonsense'),
    configMap('a').subarray(0, -1),
    Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"a":1}}}'),
    Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":["a"]}}'),
    Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"a":tru}}}'),
    Buffer.concat([Buffer.from('{"metadata":{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}}')]),
  ];
  for (const value of values) {
    assert.throws(() => codec.decode({ key: keyOf('a'), value, revision: 1 }), corrupt, value.toString());
  }
});

test('keys that are not keys of the resource', () => {
  const { prefix } = configMaps;
  for (const key of [prefix, `${prefix}a`, `${prefix}a/`, `${prefix}/a`, `${prefix}a/b/c`]) {
    assert.equal(codec.locate(key), undefined, key);
    assert.throws(() => codec.decode({ key, value: configMap('a'), revision: 1 }), corrupt, key);
  }
  // The same after one that is.
  const namespaceOf = (key: string) => codec.decode({ key, value: configMap('a'), revision: 1 }).namespace;
  for (const namespace of ['a', 'a', 'ab', 'a']) assert.equal(namespaceOf(keyOf('a', namespace)), namespace);
  for (const key of [`${prefix}a/`, `${prefix}a/b/c`, `${prefix}a`])
    assert.throws(() => namespaceOf(key), corrupt, key);
  for (const key of [nodes.prefix, `${nodes.prefix}a/b`]) assert.equal(objectCodec(nodes).locate(key), undefined, key);
});
