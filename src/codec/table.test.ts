import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApiObject } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { encodeObject, parseStored } from './json.ts';
import { compactJson, encodeTextList, prettyJson, yaml } from './list-text.ts';
import { insertResourceVersion } from './object-bytes.ts';
import { type ListMetadata, partialObjectMetadata, partialObjectMetadataBytes } from './partial-object-metadata.ts';
import {
  type CellPath,
  cellOf,
  parseIncludeObject,
  type RowCondition,
  type TableOptions,
  tableHead,
  tableOf,
  tableRow,
} from './table.ts';

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

test('table: marks of a row', () => {
  const ended = { type: 'Completed', status: 'True', reason: 'Failed', message: 'It failed.' } as const;
  const row = (conditions: readonly RowCondition[]) =>
    tableRow(object('a'), { ...options, conditionsOf: () => conditions });
  assert.deepEqual(row([ended]).conditions, [ended]);
  assert.equal('conditions' in row([]), false);
});

test('table: the object in a row', () => {
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

/** The table of a collection, in pieces. */
const encodeTable = (objects: Iterable<ApiObject>, metadata: ListMetadata, made = options, layout = compactJson) =>
  encodeTextList(layout, tableHead(metadata, made), 'rows', objects, (each) => tableRow(each, made));

for (const names of [[], ['a'], ['a', 'b', 'c']]) {
  for (const [name, layout] of Object.entries({ compactJson, prettyJson, yaml })) {
    test(`table: a list of ${names.length} is the same in pieces and whole, ${name}`, () => {
      const list = { resourceVersion: '9', continue: 'x"y', remainingItemCount: 2 };
      const made = { ...options, includeObject: 'Object' } as const;
      const pieces = [...encodeTable(names.map(object), list, made, layout)];
      const whole = { ...tableHead(list, made), rows: names.map((each) => tableRow(object(each), made)) };
      assert.equal(pieces.length, names.length + 1);
      assert.equal(pieces.join(''), layout.whole(whole));
    });
  }
}

test('a list of anything is the same in pieces and whole, in every layout', () => {
  const values = fc.array(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()), { maxLength: 4 });
  const heads = fc.record({ kind: fc.string(), metadata: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }) });
  fc.assert(
    fc.property(heads, values, (head, items) => {
      for (const layout of [compactJson, prettyJson, yaml]) {
        const text = [...encodeTextList(layout, head, 'items', items, (item) => item)].join('');
        assert.equal(text, layout.whole({ ...head, items }));
      }
    }),
  );
});

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

test('PartialObjectMetadata: of an object, and of its bytes', () => {
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.orch.io/v1', metadata };
  assert.deepEqual(partialObjectMetadata(object('a'), 'meta.orch.io/v1'), partial);
  const annotations = { 'a"}{': '\\"metadata":{', b: '[{"' };
  for (const more of [{}, { annotations }, { labels: { metadata: '}' }, annotations }]) {
    const { resourceVersion: _, ...kept } = metadata;
    const stored = { ...object('a'), metadata: { ...kept, ...more }, spec: { metadata: { name: 'inner' } } };
    const bytes = insertResourceVersion(encodeObject(stored), 7);
    assert.deepEqual(
      JSON.parse(partialObjectMetadataBytes(bytes, 'meta.orch.io/v1').toString()),
      partialObjectMetadata(parseStored(bytes) as ApiObject, 'meta.orch.io/v1'),
    );
  }
});

test('cells at paths', () => {
  const now = Date.UTC(2026, 0, 10);
  const it = {
    ...object('a'),
    spec: { n: 3, flag: false, empty: '', list: [1, 2], map: { a: 1 }, time: '2026-01-05T00:00:00Z', bad: 'never' },
  };
  const rows: readonly (readonly [source: CellPath, cell: unknown])[] = [
    [{ path: '.metadata.name', absent: '' }, 'a'],
    [{ path: '.spec.n', absent: null }, 3],
    [{ path: '.spec.flag', absent: null }, false],
    [{ path: '.spec.empty', absent: '<none>' }, '<none>'],
    [{ path: '.spec.absent', absent: null }, null],
    [{ path: '.spec.list', absent: '' }, '[1,2]'],
    [{ path: '.spec.list', as: 'count', absent: 0 }, 2],
    [{ path: '.spec.map', as: 'count', absent: 0 }, 1],
    [{ path: '.spec.absent', as: 'count', absent: 0 }, 0],
    [{ path: '.spec.time', as: 'age', absent: '<unknown>' }, '5d'],
    [{ path: '.spec.bad', as: 'age', absent: '<unknown>' }, '<unknown>'],
  ];
  for (const [source, cell] of rows) assert.deepEqual(cellOf(source, it, now), cell, source.path);
});
