import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { anyObject, anyValue, list, mergeList, opt, ptr, string, struct } from '../schema/schema.ts';
import { updateManagedFields } from './apply.ts';
import { firstMs } from './apply-fixture.ts';

const item = struct('test.Item', '', {
  name: opt(1, string(), ''),
  kind: opt(2, string(), '', { default: 'k' }),
  text: opt(3, string(), ''),
  items: opt(4, list(string(), { listType: 'set' }), ''),
});
const thing = struct('test.Thing', '', {
  byName: opt(1, mergeList('name', item), ''),
  byBoth: opt(2, mergeList('name', item, { mapKeys: ['name', 'kind'] }), ''),
  whole: ptr(3, anyValue({ mapType: 'atomic' }), ''),
  wholeObject: ptr(4, anyObject({ mapType: 'atomic' }), ''),
  parts: ptr(5, anyObject(), ''),
});

const source = { schema: thing, apiVersion: 'v1', manager: 'm', subresource: '', nowMs: firstMs };

function fieldsAfter(content: object, old?: ApiObject): unknown {
  const object = { metadata: { ...old?.metadata }, ...content } as unknown as ApiObject;
  updateManagedFields({ ...source, object, old });
  return object.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1);
}

const leaf = {};
const created: readonly (readonly [what: string, content: object, fields: object | undefined])[] = [
  [
    'a list element with its key',
    { byName: [{ name: 'a' }] },
    { 'f:byName': { '.': leaf, 'k:{"name":"a"}': { '.': leaf, 'f:name': leaf } } },
  ],
  ['a list element without its key', { byName: [{ text: 'x' }] }, undefined],
  ['one of two without its key', { byName: [{ name: 'a' }, { text: 'x' }], parts: { a: 1 } }, undefined],
  [
    'a list element without a key that has a default',
    { byBoth: [{ name: 'a' }] },
    { 'f:byBoth': { '.': leaf, 'k:{"kind":"k","name":"a"}': { '.': leaf, 'f:name': leaf } } },
  ],
  ['a list element without the key that has none', { byBoth: [{ kind: 'x' }] }, undefined],
  [
    'a key that reads like none',
    { byName: [{ name: ':null' }] },
    { 'f:byName': { '.': leaf, 'k:{"name":":null"}': { '.': leaf, 'f:name': leaf } } },
  ],
  ['a value that is owned as a whole', { whole: { a: { b: 1 } } }, { 'f:whole': leaf }],
  ['an object that is owned as a whole', { wholeObject: { a: { b: 1 } } }, { 'f:wholeObject': leaf }],
  ['an object with owners of its parts', { parts: { a: 1 } }, { 'f:parts': { '.': leaf, 'f:a': leaf } }],
];

for (const [what, content, fields] of created) {
  test(`managed fields of ${what}`, () => assert.deepEqual(fieldsAfter(content), fields && [fields]));
}

test('an update that takes the key from a list element ends tracking', () => {
  const old = { metadata: {}, byName: [{ name: 'a' }] } as unknown as ApiObject;
  updateManagedFields({ ...source, object: old, old: undefined });
  assert.ok(old.metadata.managedFields);
  assert.equal(fieldsAfter({ byName: [{ text: 'x' }] }, old), undefined);
});
