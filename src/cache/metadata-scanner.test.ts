import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findLabels } from './metadata-scanner.ts';

const labelsIn = (text: string): unknown => {
  const bytes = Buffer.from(text);
  const range = findLabels(bytes);
  return typeof range === 'string' ? range : JSON.parse(bytes.toString('utf8', range.start, range.end));
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

test('what is no stored object', () => {
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
    // The first text `"metadata":{` has to be that of the object itself: there the version is put in.
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

test('finds what parsing finds, and no part of an object is an object', () => {
  fc.assert(
    fc.property(objects, fc.nat(), (object, cut) => {
      const text = JSON.stringify(object);
      assert.deepEqual(labelsIn(text), JSON.parse(text).metadata.labels);
      const bytes = Buffer.from(text);
      assert.equal(findLabels(bytes.subarray(0, cut % bytes.length)), 'malformed');
    }),
  );
});

test('never throws and never reads past the end, whatever the bytes are', () => {
  const json = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '"metadata":{', '"labels":', '1');
  fc.assert(
    fc.property(fc.array(json), (parts) => void findLabels(Buffer.from(parts.join('')))),
    { numRuns: 1_000 },
  );
});
