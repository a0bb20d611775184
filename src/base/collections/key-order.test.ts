import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareKeys, sortsNatively } from './key-order.ts';

test('keys compare as their UTF-8 bytes do', () => {
  const keys = fc.string({ unit: 'binary', maxLength: 6 });
  fc.assert(
    fc.property(keys, keys, keys, (head, a, b) => {
      const expected = Buffer.compare(Buffer.from(head + a), Buffer.from(head + b));
      assert.equal(Math.sign(compareKeys(head + a, head + b)), expected);
    }),
    { numRuns: 500 },
  );
});

test('code points above the surrogates sort after all others', () => {
  assert.ok(compareKeys('\u{1F600}', '\uFFFD') > 0);
  assert.ok(compareKeys('\uFFFD', '\uD7FF') > 0);
  assert.ok(compareKeys('\u{10FFFF}', '\u{10000}') > 0);
  assert.ok(compareKeys('a', 'aa') < 0);
  assert.equal(compareKeys('é', 'é'), 0);
});

test('a key that sorts natively compares with any key as by its units', () => {
  const keys = fc.string({ unit: 'binary', maxLength: 6 });
  fc.assert(
    fc.property(keys.filter(sortsNatively), keys, (native, other) => {
      assert.equal(compareKeys(native, other) < 0, native < other);
      assert.equal(compareKeys(other, native) < 0, other < native);
    }),
    { numRuns: 500 },
  );
  assert.ok(sortsNatively('/core/configmaps/ns/é\uD7FF'));
  for (const key of ['\u{1F600}', '\uE000', '\uFFFD']) assert.equal(sortsNatively(`/a/${key}`), false);
});
