import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyValue, list, map, mergeList, opt, string, struct } from '../schema/schema.ts';
import { mergeConfiguration } from './merge-configuration.ts';

const item = struct('Item', 'An item.', { name: opt(1, string(), ''), words: opt(2, list(string()), '') });
const schema = struct('Thing', 'A thing.', {
  a: opt(1, string(), ''),
  items: opt(2, mergeList('name', item), ''),
  whole: opt(
    3,
    struct('Whole', '', { x: opt(1, string(), ''), y: opt(2, string(), '') }, { structType: 'atomic' }),
    '',
  ),
  free: opt(4, anyValue(), ''),
  labels: opt(5, map(string()), ''),
});
const atomic = 'invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ';
const unreadable = 'failed to convert patch object to typed object: ';

const rows: readonly (readonly [what: string, sent: object, expected: object | string])[] = [
  ['scalars and entries of maps', { a: '2', labels: { m: '2' } }, { a: '2', labels: { l: '1', m: '2' } }],
  ['what has no schema', { free: { b: 1 } }, { free: { a: 1, b: 1 } }],
  ['items by key, in their order', { items: [{ name: 'y' }] }, { items: [{ name: 'x', words: ['w'] }, { name: 'y' }] }],
  ['no atomic struct', { whole: { x: '1' } }, `${atomic}.whole`],
  ['no atomic list', { a: '2', items: [{ name: 'x', words: [] }] }, `${atomic}.items[0].words`],
  ['no list without a schema', { free: [1] }, `${atomic}.free`],
  ['all of them are named', { whole: {}, free: [] }, `${atomic}.whole, .free`],
  ['no unknown field', { b: '1' }, `${unreadable}.b: field not declared in schema`],
  [
    'no value of a wrong type',
    { a: {}, labels: [] },
    `${unreadable}errors:\n  .a: expected string, got object\n  .labels: expected object, got array`,
  ],
];

describe('a configuration merged as nobody', () => {
  const object = {
    a: '1',
    items: [{ name: 'x', words: ['w'] }],
    whole: { y: '1' },
    free: { a: 1 },
    labels: { l: '1' },
  };
  for (const [what, sent, expected] of rows) {
    it(what, () => {
      const merged = mergeConfiguration(schema, object, { ...sent });
      if (typeof expected === 'string') assert.deepEqual(merged, { type: 'invalid', problem: expected });
      else assert.deepEqual(merged, { type: 'merged', object: { ...object, ...expected } });
    });
  }

  it('that changes nothing leaves the object itself', () => {
    assert.deepEqual(mergeConfiguration(schema, object, { a: '1' }), { type: 'merged', object });
  });
});
