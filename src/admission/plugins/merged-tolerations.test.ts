import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LongWork } from '../../base/long-work.ts';
import type { Toleration } from '../../kinds/core/pod/toleration.ts';
import { mergedTolerations } from './merged-tolerations.ts';

const merge = (first: readonly Toleration[], second: readonly Toleration[]): Toleration[] =>
  mergedTolerations(first, second, { inline: false });

const all: Toleration = { operator: 'Exists' };
const key: Toleration = { key: 'a', operator: 'Exists' };
const value: Toleration = { key: 'a', operator: 'Equal', value: 'x' };
const evicted: Toleration = { ...key, effect: 'NoExecute' };
const soon: Toleration = { ...evicted, tolerationSeconds: 5 };
const later: Toleration = { ...evicted, tolerationSeconds: 50 };

const rows: readonly (readonly [
  what: string,
  first: readonly Toleration[],
  second: readonly Toleration[],
  merged: readonly Toleration[],
])[] = [
  ['none', [], [], []],
  [
    'others stay, in order',
    [value, { ...key, key: 'c' }],
    [{ ...key, key: 'b' }],
    [value, { ...key, key: 'c' }, { ...key, key: 'b' }],
  ],
  ['equal ones', [key, value], [key], [key]],
  [
    'an equal one with empty fields',
    [{ key: 'a', operator: 'Exists', value: '' }],
    [key],
    [{ key: 'a', operator: 'Exists', value: '' }],
  ],
  ['any value includes one', [value], [key], [key]],
  ['any value includes one before it', [key], [value], [key]],
  ['another value', [value], [{ ...value, value: 'y' }], [value, { ...value, value: 'y' }]],
  [
    'a key without an operator equals, but is not included',
    [value],
    [{ key: 'a', value: 'x' }],
    [{ key: 'a', value: 'x' }],
  ],
  ['any key includes one', [key, value], [all], [all]],
  [
    'any key with a value includes no other',
    [{ operator: 'Equal', value: 'x' }],
    [value],
    [{ operator: 'Equal', value: 'x' }, value],
  ],
  ['any effect includes one', [evicted, soon], [key], [key]],
  ['one effect does not include any', [key], [{ ...all, effect: 'NoExecute' }], [key, { ...all, effect: 'NoExecute' }]],
  ['for ever includes a time', [soon], [evicted], [evicted]],
  ['a time includes a shorter one', [later], [soon], [later]],
  ['a time includes a shorter one before it', [soon], [later], [later]],
  [
    'a time does not include one for ever',
    [evicted],
    [{ ...all, effect: 'NoExecute', tolerationSeconds: 9 }],
    [evicted, { ...all, effect: 'NoExecute', tolerationSeconds: 9 }],
  ],
];

describe('tolerations are merged', () => {
  for (const [what, first, second, merged] of rows) {
    it(what, () => assert.deepEqual(merge(first, second), merged));
  }

  const toleration = fc.oneof(
    fc.record({
      key: fc.constantFrom('a', 'b'),
      operator: fc.constant('Equal' as const),
      value: fc.constantFrom('', 'x'),
    }),
    fc.record({ key: fc.constantFrom('', 'a', 'b'), operator: fc.constant('Exists' as const) }),
    fc.record({
      key: fc.constantFrom('', 'a'),
      operator: fc.constant('Exists' as const),
      effect: fc.constant('NoExecute' as const),
      tolerationSeconds: fc.integer({ min: 0, max: 3 }),
    }),
    fc.record({
      key: fc.constantFrom('a', 'b'),
      operator: fc.constant('Exists' as const),
      effect: fc.constantFrom('NoSchedule' as const, 'NoExecute' as const),
    }),
  );
  const includes = (wide: Toleration, narrow: Toleration): boolean => merge([narrow], [wide]).length === 1;
  it('what one tolerates alone, all of them tolerate; none is left that another includes', () => {
    fc.assert(
      fc.property(fc.array(toleration), fc.array(toleration), (first, second) => {
        const merged = merge(first, second);
        for (const each of [...first, ...second]) assert.ok(merged.some((wide) => includes(wide, each)));
        for (const one of merged) {
          for (const other of merged) assert.ok(one === other || merge([one], [other]).length === 2);
        }
      }),
    );
  });
});

it('very many take no longer than so many', () => {
  // Each pair compared, this would take very long.
  const many = Array.from({ length: 50_000 }, (_, at): Toleration => ({ ...value, value: `${at}` }));
  assert.equal(merge(many, [...many, { ...value, key: 'b' }]).length, many.length + 1);
});

it('very many are none for a thread that others wait for', () => {
  const many = Array.from({ length: 600 }, (_, at): Toleration => ({ ...value, value: `${at}` }));
  assert.equal(mergedTolerations(many, [], { inline: true }).length, 600);
  assert.throws(() => mergedTolerations(many, many, { inline: true }), LongWork);
});
