import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstOutside, hasIndex, indexSetIn, indexSetOf, sharedSize, sizeOf, textOf, union } from './index-set.ts';

describe('sets of indexes', () => {
  for (const [text, completions, expected, size] of [
    ['', 5, '', 0],
    ['0', 5, '0', 1],
    ['0,1', 5, '0,1', 2],
    ['0-2', 5, '0-2', 3],
    ['0,1,2,4', 5, '0-2,4', 4],
    ['1,3-7', 5, '1,3,4', 3],
    ['7-9', 5, '', 0],
    ['x,2,-', 5, '2', 1],
    ['0-2147483646', 2147483647, '0-2147483646', 2147483647],
  ] as const) {
    it(`${text} of ${completions}`, () => {
      const set = indexSetIn(text, completions);
      assert.equal(textOf(set), expected);
      assert.equal(sizeOf(set), size);
    });
  }

  for (const [text, completions, count, expected] of [
    ['', 3, 5, [0, 1, 2]],
    ['0-2', 3, 5, []],
    ['0,3-5', 9, 3, [1, 2, 6]],
    ['1', 9, 1, [0]],
    ['0-2147483640', 2147483647, 2, [2147483641, 2147483642]],
  ] as const) {
    it(`the first ${count} that are not in ${text || 'nothing'}`, () =>
      assert.deepEqual(firstOutside(indexSetIn(text, completions), completions, count), expected));
  }

  for (const [one, other, expected] of [
    ['0-4', '3-9', 2],
    ['0,2,4', '0-9', 3],
    ['0-4', '5-9', 0],
    ['', '0-9', 0],
  ] as const) {
    it(`${one} and ${other} share ${expected}`, () => {
      assert.equal(sharedSize(indexSetIn(one, 10), indexSetIn(other, 10)), expected);
      assert.equal(sharedSize(indexSetIn(other, 10), indexSetIn(one, 10)), expected);
    });
  }

  it('grow', () => {
    const set = union(indexSetIn('0,5', 9), indexSetOf([6, 1, 6]));
    assert.equal(textOf(set), '0,1,5,6');
    assert.deepEqual(
      [0, 2, 5, 7].map((index) => hasIndex(set, index)),
      [true, false, true, false],
    );
  });
});
