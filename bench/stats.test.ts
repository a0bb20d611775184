import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentile, statsOf } from './stats.ts';

test('the median of an odd and of an even number of values', () => {
  assert.deepEqual(statsOf([3, 1, 2]), { min: 1, median: 2, max: 3 });
  assert.deepEqual(statsOf([4, 1, 3, 2]), { min: 1, median: 2.5, max: 4 });
  assert.throws(() => statsOf([]), /no value/);
});

test('percentiles are values that were measured', () => {
  const values = Float64Array.from({ length: 200 }, (_, index) => index + 1);
  assert.equal(percentile(values, 99), 198);
  assert.equal(percentile(values, 100), 200);
  assert.equal(percentile(Float64Array.of(7), 99), 7);
});
