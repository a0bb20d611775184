import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { encodePartialObjectMetadataList, partialObjectMetadata } from './partial-object-metadata.ts';
import { encodeTable, parseIncludeObject, type TableOptions, tableOf, tableOfList } from './table.ts';

const object = (name: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' },
  data: { a: 'b' },
});

const options: TableOptions = {
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'd',
      priority: 0,
      value: ({ metadata }) => metadata.name ?? '',
    },
    { name: 'Now', type: 'integer', format: '', description: 'e', priority: 1, value: (_object, now) => now },
  ],
  includeObject: 'Metadata',
  metaVersion: 'meta.orch.io/v1',
  now: 5,
};

const columnDefinitions = [
  { name: 'Name', type: 'string', format: 'name', description: 'd', priority: 0 },
  { name: 'Now', type: 'integer', format: '', description: 'e', priority: 1 },
];
const metadata = object('a').metadata;

test('table: one object', () => {
  assert.deepEqual(tableOf(object('a'), options), {
    kind: 'Table',
    apiVersion: 'meta.orch.io/v1',
    metadata: { resourceVersion: '7' },
    columnDefinitions,
    rows: [{ cells: ['a', 5], object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.orch.io/v1', metadata } }],
  });
});

test('table: what stands beside the cells', () => {
  const row = (includeObject: TableOptions['includeObject']) =>
    tableOf(object('a'), { ...options, includeObject }).rows[0];
  assert.equal(row('None')?.object, null);
  assert.deepEqual(row('Object')?.object, object('a'));
});

test('table: events after the first have no columns', () => {
  const { columnDefinitions: columns, rows } = tableOf(object('a'), options, 'omitted');
  assert.equal(columns, null);
  assert.deepEqual(rows[0]?.cells, ['a', 5]);
});

test('table: default columns', () => {
  const { columnDefinitions: columns, rows } = tableOf(object('a'), { ...options, columns: [] });
  assert.deepEqual(
    columns?.map(({ name, type, format }) => [name, type, format]),
    [
      ['Name', 'string', 'name'],
      ['Created At', 'date', ''],
    ],
  );
  assert.deepEqual(rows[0]?.cells, ['a', '2026-01-01T00:00:00Z']);
});

for (const names of [[], ['a'], ['a', 'b', 'c']]) {
  test(`table: a list of ${names.length} is the same in pieces and whole`, () => {
    const list = { resourceVersion: '9', continue: 'x"y', remainingItemCount: 2 };
    const pieces = [...encodeTable(names.map(object), list, options)];
    const whole = tableOfList(names.map(object), list, options);
    assert.equal(pieces.length, names.length + 1);
    assert.deepEqual(JSON.parse(pieces.join('')), JSON.parse(JSON.stringify(whole)));
    assert.deepEqual(
      [whole.metadata, whole.rows.length, whole.columnDefinitions],
      [list, names.length, columnDefinitions],
    );
  });
}

test('table: rows are made as they are asked for', () => {
  let made = 0;
  function* objects() {
    for (;;) {
      made++;
      yield object(`n${made}`);
    }
  }
  const pieces = encodeTable(objects(), {}, options);
  pieces.next();
  pieces.next();
  assert.equal(made, 2);
});

test('table: integers past 2^53 are kept', () => {
  const big = { ...object('a'), count: 2n ** 60n };
  const text = [...encodeTable([big], {}, { ...options, includeObject: 'Object' })].join('');
  assert.match(text, /"count":1152921504606846976/);
});

test('includeObject: values', () => {
  assert.deepEqual([undefined, '', 'None', 'Metadata', 'Object'].map(parseIncludeObject), [
    'Metadata',
    'Metadata',
    'None',
    'Metadata',
    'Object',
  ]);
  assert.throws(
    () => parseIncludeObject('none'),
    (error) =>
      error instanceof StatusError &&
      error.code === 400 &&
      error.message ===
        "Unable to convert to Table as requested: includeObject: Invalid value: \"none\": must be 'Metadata', 'Object', 'None', or empty",
  );
});

test('PartialObjectMetadata: an object and a list', () => {
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.orch.io/v1', metadata };
  assert.deepEqual(partialObjectMetadata(object('a'), 'meta.orch.io/v1'), partial);
  const list = (objects: ApiObject[]) =>
    [...encodePartialObjectMetadataList(objects, { resourceVersion: '9' }, 'meta.orch.io/v1')].join('');
  const head =
    '{"kind":"PartialObjectMetadataList","apiVersion":"meta.orch.io/v1","metadata":{"resourceVersion":"9"},"items":';
  assert.equal(list([]), `${head}[]}`);
  assert.deepEqual(JSON.parse(list([object('a'), object('a')])).items, [partial, partial]);
});
