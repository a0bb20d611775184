import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareKeys } from '../base/collections/key-order.ts';
import { prefixEnd } from './key-range.ts';

test('the end of a prefix', () => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['/core/configmaps/', '/core/configmaps0'],
    ['a', 'b'],
    ['a\u{d7ff}', 'a\u{e000}'],
    ['a\u{ffff}', 'a\u{10000}'],
    ['a\u{10ffff}', 'b'],
    ['\u{10ffff}', undefined],
    ['', undefined],
  ];
  for (const [prefix, end] of rows) assert.equal(prefixEnd(prefix), end, JSON.stringify(prefix));
});

test('a key is below the end and not below the prefix exactly when it starts with the prefix', () => {
  const text = fc.string({ unit: 'binary', maxLength: 3 }).filter((each) => each.isWellFormed());
  const pairs = fc.oneof(
    fc.tuple(text, text),
    fc.tuple(text, text).map(([prefix, rest]): [string, string] => [prefix, prefix + rest]),
  );
  fc.assert(
    fc.property(pairs, ([prefix, key]) => {
      const end = prefixEnd(prefix);
      const inside = compareKeys(key, prefix) >= 0 && (end === undefined || compareKeys(key, end) < 0);
      assert.equal(inside, key.startsWith(prefix));
    }),
  );
});
