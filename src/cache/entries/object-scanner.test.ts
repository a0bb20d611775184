import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FieldPath, parseFieldPath } from '../../meta/selectable-field.ts';
import { ObjectScanner } from './object-scanner.ts';

const labelsPath = ['metadata', 'labels'];

const labelsIn = (text: string): unknown => {
  const bytes = Buffer.from(text);
  const scanner = new ObjectScanner([labelsPath]);
  if (!scanner.scan(bytes)) return 'malformed';
  const start = scanner.start(0);
  return start < 0 ? 'none' : JSON.parse(bytes.toString('utf8', start, scanner.end(0)));
};

test('labels of objects in their stored form', () => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['{"metadata":{"name":"a"}}', 'none'],
    ['{"metadata":{"labels":{}}}', {}],
    ['{"metadata":{"labels":null}}', null],
    [
      '{"kind":"K","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"labels":{"c":"d"}}}',
      { a: 'b' },
    ],
    ['{"kind":"K","metadata":{"annotations":{"labels":"no"},"labels":{"a":"b"}}}', { a: 'b' }],
    ['{"metadata":{"x":{"labels":{"no":"no"}}},"labels":{"no":"no"}}', 'none'],
    ['{"metadata":{"a":"\\"labels\\":{}","labels":{"\\\\\\"}":"{"}},"data":{"a":"}]"}}', { '\\"}': '{' }],
    ['{"metadata":{"ok":true,"n":-1.5e3,"none":null,"list":[1,[2],{"a":[]}],"labels":{"ä":"ß"}}}', { ä: 'ß' }],
  ];
  for (const [text, expected] of rows) assert.deepEqual(labelsIn(text), expected, text);
});

test('values that are not stored objects', () => {
  const rows = [
    '',
    'null',
    '[]',
    '""',
    '{}',
    ' {"metadata":{"name":"a"}}',
    '{"metadata":{"name":"a"}} ',
    '{"metadata":{"name":"a"}}{}',
    '{"metadata": {"name":"a"}}',
    '{"metadata":{}}',
    '{"metadata":"a"}',
    '{"metadata":["labels"]}',
    '{"metadata":{"name":"a"}',
    '{"metadata":{"name":"a}}',
    '{"metadata":{"name":"a"},}',
    '{"metadata":{"name":}}',
    '{"metadata":{"name" "a"}}',
    '{"metadata":{name:"a"}}',
    '{"kind":"K"}',
    // The first occurrence of `"metadata":{` must be the object's own: the resourceVersion is inserted there.
    '{"spec":{"metadata":{"name":"b"}},"metadata":{"name":"a"}}',
  ];
  for (const text of rows) assert.equal(labelsIn(text), 'malformed', text);
});

const objects = fc.record({
  kind: fc.string(),
  apiVersion: fc.string(),
  metadata: fc
    .tuple(fc.string({ minLength: 1 }), fc.jsonValue(), fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string()))
    .map(([key, value, labels]) => ({ name: 'a', [key === 'labels' ? 'other' : key]: value, labels })),
  spec: fc.jsonValue(),
});

test('finds what parsing finds, and rejects truncated objects', () => {
  fc.assert(
    fc.property(objects, fc.nat(), (object, cut) => {
      const text = JSON.stringify(object);
      assert.deepEqual(labelsIn(text), JSON.parse(text).metadata.labels);
      const bytes = Buffer.from(text);
      assert.equal(new ObjectScanner([labelsPath]).scan(bytes.subarray(0, cut % bytes.length)), false);
    }),
  );
});

test('never throws and never reads past the end, whatever the bytes are', () => {
  const scanner = new ObjectScanner([labelsPath, ['a', 0, 'a'], ['a', 'a']]);
  const json = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '"metadata":{', '"labels":', '1');
  fc.assert(
    fc.property(fc.array(json), (parts) => void scanner.scan(Buffer.from(parts.join('')))),
    { numRuns: 1_000 },
  );
});

test('finds the values of all paths in one pass', () => {
  const paths = ['a', 'a.b', 'b.c.d', 'l[1]', 'l[0].x', 'l[2][1]', 'metadata.name', 'metadata', 'kind'].map(
    parseFieldPath,
  );
  const scanner = new ObjectScanner(paths);
  const valueAt = (object: unknown, path: FieldPath): unknown =>
    path.reduce<unknown>((value, key) => {
      const inside = typeof value === 'object' && value !== null && Array.isArray(value) === (typeof key === 'number');
      return inside && Object.hasOwn(value, key) ? (value as Record<string | number, unknown>)[key] : undefined;
    }, object);
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const inner = fc.oneof(leaf, fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'x'), fc.jsonValue(), { maxKeys: 3 }));
  const shapes = fc.dictionary(
    fc.constantFrom('a', 'b', 'l', 'z'),
    fc.oneof(inner, fc.array(fc.oneof(inner, fc.array(leaf)), { maxLength: 4 }), fc.record({ c: inner })),
  );
  fc.assert(
    fc.property(shapes, (shape) => {
      const object = { kind: 'K', metadata: { name: 'n' }, ...shape };
      const bytes = Buffer.from(JSON.stringify(object));
      const parsed = JSON.parse(bytes.toString());
      assert.ok(scanner.scan(bytes));
      for (const [index, path] of paths.entries()) {
        const start = scanner.start(index);
        const found = start < 0 ? undefined : JSON.parse(bytes.toString('utf8', start, scanner.end(index)));
        assert.deepEqual(found, valueAt(parsed, path), path.join('.'));
      }
    }),
    { numRuns: 500 },
  );
});

test('duplicate and invalid paths are rejected', () => {
  assert.throws(() => new ObjectScanner([['a'], ['a']]), TypeError);
  for (const text of ['', '.a', 'a.', 'a..b', 'a[b]', 'a[', '[0]'])
    assert.throws(() => parseFieldPath(text), TypeError, text);
});
