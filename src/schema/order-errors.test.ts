import assert from 'node:assert/strict';
import { test } from 'node:test';
import { required } from '../meta/field-error.ts';
import { mergeErrors, withChanges } from './order-errors.ts';
import { list, map, opt, string, struct } from './schema.ts';

const item = struct('test.Item', '', { first: opt(1, string(), ''), second: opt(2, string(), '') });
const schema = struct('test.Object', '', {
  name: opt(1, string(), ''),
  items: opt(2, list(item), ''),
  labels: opt(3, map(string()), ''),
  last: opt(4, string(), ''),
});

const other = struct(
  'test.Other',
  '',
  { name: opt(1, string(), ''), kind: opt(2, string(), ''), last: opt(3, string(), '') },
  { checkedFirst: ['last', 'kind'] },
);

test('labels and annotations without a field of their own are those of the metadata', () => {
  const template = struct('test.Template', '', { metadata: opt(1, item, ''), name: opt(2, string(), '') });
  for (const part of ['labels', 'annotations']) {
    const merged = mergeErrors(template, [required('name')], [required(part)]);
    assert.deepEqual(
      merged.map(({ field }) => field),
      [part, 'name'],
    );
  }
});

test('errors are merged in the order in which a struct is checked', () => {
  const fields = (...names: string[]) => names.map((name) => required(name));
  const merged = mergeErrors(other, fields('last', 'name'), fields('kind'));
  assert.deepEqual(
    merged.map(({ field }) => field),
    ['last', 'kind', 'name'],
  );
});

const rows: readonly { rule: string; ofSchema: string[]; ofKind: string[]; merged: string[] }[] = [
  { rule: 'fields, in the order of the schema', ofSchema: ['last'], ofKind: ['name'], merged: ['name', 'last'] },
  { rule: 'those of the schema first', ofSchema: ['name'], ofKind: ['name'], merged: ['name', 'name'] },
  {
    rule: 'items',
    ofSchema: ['items[2]', 'items[10]'],
    ofKind: ['items[9]'],
    merged: ['items[2]', 'items[9]', 'items[10]'],
  },
  {
    rule: 'fields of an item',
    ofSchema: ['items[0].second'],
    ofKind: ['items[0].first'],
    merged: ['items[0].first', 'items[0].second'],
  },
  {
    rule: 'what is within the other',
    ofSchema: ['items[0].first'],
    ofKind: ['items'],
    merged: ['items[0].first', 'items'],
  },
  {
    rule: 'keys of a map, which have no order',
    ofSchema: ['labels[b]'],
    ofKind: ['labels[a]'],
    merged: ['labels[b]', 'labels[a]'],
  },
  { rule: 'unknown fields', ofSchema: ['last'], ofKind: ['other', 'name'], merged: ['last', 'other', 'name'] },
  {
    rule: 'an order of its own, which stays',
    ofSchema: ['items'],
    ofKind: ['last', 'name'],
    merged: ['items', 'last', 'name'],
  },
  {
    rule: 'the rest of the schema at the end',
    ofSchema: ['name', 'last'],
    ofKind: ['items'],
    merged: ['name', 'items', 'last'],
  },
  { rule: 'one validation alone', ofSchema: [], ofKind: ['last', 'name'], merged: ['last', 'name'] },
];

for (const { rule, ofSchema, ofKind, merged } of rows) {
  test(`errors are merged: ${rule}`, () => {
    const errors = mergeErrors(
      schema,
      ofSchema.map((field) => required(field)),
      ofKind.map((field) => required(field)),
    );
    assert.deepEqual(
      errors.map(({ field }) => field),
      merged,
    );
  });
}

const changeRows = [
  { why: 'last', frozen: {}, order: ['metadata.labels', 'b', 'a'] },
  {
    why: 'first, where they freeze',
    frozen: { freeze: { by: 'a', fields: ['b'] } },
    order: ['metadata.labels', 'a', 'b'],
  },
];

for (const { why, frozen, order } of changeRows) {
  test(`errors of changes come ${why}`, () => {
    const found = withChanges(
      struct('', '', {}, frozen),
      [required('metadata.labels'), required('b')],
      [required('a')],
    );
    assert.deepEqual(
      found.map(({ field }) => field),
      order,
    );
  });
}
