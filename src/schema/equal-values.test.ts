import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equalValues } from './equal-values.ts';

for (const [a, b, equal] of [
  [2 ** 60, 2n ** 60n, true],
  [2 ** 60, 2n ** 60n + 1n, false],
  [1.5, 1n, false],
  [Number.NaN, 1n, false],
  [0, 0n, true],
  [[2 ** 60], [2n ** 60n], true],
  [{ a: 1, b: [2n ** 60n] }, { b: [2 ** 60], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, false],
  [[1], [1, 2], false],
  ['1', 1, false],
  [null, undefined, false],
  [{}, [], false],
] as const) {
  const name = (value: unknown) => JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each));
  test(`${name(a)} and ${name(b)} are ${equal ? '' : 'not '}equal, either way round`, () => {
    assert.equal(equalValues(a, b), equal);
    assert.equal(equalValues(b, a), equal);
  });
}
