import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid } from '../meta/field-error.ts';
import { anyValue, list, map, opt, type StructSchema, string, struct } from './schema.ts';
import { validateUpdate } from './validate-update.ts';

const item = struct('test.v1.Item', 'An item.', {
  name: opt(1, string(), 'Name.'),
  kind: opt(2, string(), 'Kind.', { immutable: true }),
});

const thing: StructSchema = struct('test.v1.Thing', 'A thing.', {
  type: opt(1, string(), 'Type.', { immutable: true }),
  raw: opt(2, anyValue(), 'Raw.', { immutable: true }),
  note: opt(3, string(), 'Note.'),
  items: opt(4, list(item, { patchMergeKey: 'name' }), 'Items.'),
  atomic: opt(5, list(item), 'Items.'),
  byName: opt(6, map(item), 'Items.'),
  next: opt(7, () => thing, 'Next.'),
});

test('immutable fields', () => {
  const changed = (field: string, value: unknown): unknown[] => [invalid(field, value, 'field is immutable')];
  for (const [what, value, old, errors] of [
    ['nothing changed', { type: 'a', raw: { b: [1] } }, { type: 'a', raw: { b: [1] } }, []],
    ['another field changed', { type: 'a', note: 'b' }, { type: 'a', note: 'c' }, []],
    ['set for the first time', { type: 'a' }, {}, []],
    ['changed', { type: 'b' }, { type: 'a' }, changed('type', 'b')],
    ['removed', {}, { type: 'a' }, changed('type', null)],
    ['changed within', { raw: { b: [2] } }, { raw: { b: [1] } }, changed('raw', { b: [2] })],
    ['a bigint changed', { raw: 2n ** 60n }, { raw: 2n ** 60n + 1n }, changed('raw', 2n ** 60n)],
    [
      'elements moved',
      {
        items: [
          { name: 'b', kind: 'y' },
          { name: 'a', kind: 'x' },
        ],
      },
      {
        items: [
          { name: 'a', kind: 'x' },
          { name: 'b', kind: 'y' },
        ],
      },
      [],
    ],
    [
      'an element changed',
      {
        items: [
          { name: 'c', kind: 'x' },
          { name: 'a', kind: 'y' },
        ],
      },
      { items: [{ name: 'a', kind: 'x' }] },
      changed('items[1].kind', 'y'),
    ],
    ['a list replaced whole', { atomic: [{ kind: 'y' }] }, { atomic: [{ kind: 'x' }] }, []],
    [
      'a value of a map',
      { byName: { a: { kind: 'y' } } },
      { byName: { a: { kind: 'x' } } },
      changed('byName[a].kind', 'y'),
    ],
    ['a new value of a map', { byName: { toString: { kind: 'y' } } }, { byName: {} }, []],
    ['at depth', { next: { next: {} } }, { next: { next: { type: 'a' } } }, changed('next.next.type', null)],
    ['what holds it removed', {}, { next: { type: 'a' } }, []],
  ] as const) {
    assert.deepEqual(validateUpdate(thing, value, old), errors, what);
  }
});

test('paths begin with the given one', () => {
  assert.deepEqual(validateUpdate(thing, { type: 'b' }, { type: 'a' }, 'spec'), [
    invalid('spec.type', 'b', 'field is immutable'),
  ]);
});
