import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStoreError } from '../store/store.ts';
import { objectCodec } from './entry-codec.ts';
import { configMap, configMaps, keyOf, nodes, parsed } from './testing/fixtures.ts';

const codec = objectCodec(configMaps);
const corrupt = (error: unknown): boolean => isStoreError(error, 'corrupt');

test('an entry has the bytes that clients receive, and what selectors look at', () => {
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

test('objects of a cluster scope have no namespace', () => {
  const entry = objectCodec(nodes).decode({ key: '/core/nodes/n1', value: configMap('n1'), revision: 1 });
  assert.deepEqual([entry.namespace, entry.name], ['', 'n1']);
});

test('selectable fields are read once, when the entry is made', () => {
  let reads = 0;
  const fields = objectCodec({
    ...configMaps,
    selectableFields: {
      kind: (object) => {
        reads++;
        return object.kind;
      },
      missing: () => '',
    },
  });
  const entry = fields.decode({ key: keyOf('a'), value: configMap('a'), revision: 1 });
  assert.deepEqual([entry.field('kind'), entry.field('kind'), entry.field('missing')], ['ConfigMap', 'ConfigMap', '']);
  assert.equal(fields.restamp(entry, 2).field('kind'), 'ConfigMap');
  assert.equal(reads, 1);
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

test('an entry keeps nothing of the value it was made of', () => {
  const message = Buffer.concat([Buffer.alloc(1_000), configMap('a', { labels: { a: 'b' } }), Buffer.alloc(1_000)]);
  const entry = codec.decode({ key: keyOf('a'), value: message.subarray(1_000, -1_000), revision: 1 });
  const before = entry.bytes.toString();
  message.fill(0);
  assert.equal(entry.bytes.toString(), before);
  assert.equal(entry.label('a'), 'b');
  // Nor does it hold a part of a larger buffer.
  assert.equal(entry.bytes.buffer.byteLength, entry.bytes.length);
});

test('values that are no stored objects', () => {
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
  const failing = objectCodec({ ...configMaps, selectableFields: { x: () => assert.fail() } });
  assert.throws(() => failing.decode({ key: keyOf('a'), value: configMap('a'), revision: 1 }), corrupt);
});

test('keys that are not of the resource', () => {
  const { prefix } = configMaps;
  for (const key of [prefix, `${prefix}a`, `${prefix}a/`, `${prefix}/a`, `${prefix}a/b/c`]) {
    assert.equal(codec.locate(key), undefined, key);
    assert.throws(() => codec.decode({ key, value: configMap('a'), revision: 1 }), corrupt, key);
  }
  for (const key of [nodes.prefix, `${nodes.prefix}a/b`]) assert.equal(objectCodec(nodes).locate(key), undefined, key);
});
