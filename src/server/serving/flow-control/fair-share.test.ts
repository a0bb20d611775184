import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FairShare, type Holding } from './fair-share.ts';

const holders = (count: number): Holding[] => Array.from({ length: count }, () => ({ held: 0 }));

/** All take one unit per round until nobody gets more. */
function takeAll(share: FairShare, all: readonly Holding[]): void {
  while (all.filter((each) => share.take(each, 1)).length > 0);
}

describe('a fair share', () => {
  for (const [count, each] of [
    [1, 60],
    [2, 40],
    [3, 30],
    [5, 20],
    [11, 10],
  ] as const) {
    test(`of 120 gives ${count} holders ${each} each, and leaves as much free`, () => {
      const share = new FairShare(120);
      const all = holders(count);
      takeAll(share, all);
      assert.deepEqual(
        all.map(({ held }) => held),
        all.map(() => each),
      );
      assert.equal(share.used, count * each);
    });
  }

  test('gives a newcomer half of what those before it left, however much they took', () => {
    const share = new FairShare(120);
    const taken = holders(4).map((holding) => {
      while (share.take(holding, 1));
      return holding.held;
    });
    assert.deepEqual(taken, [60, 30, 15, 8]);
  });

  test('evens out: a holder with too much gets no more until others have as much', () => {
    const share = new FairShare(120);
    const [early, late] = [{ held: 0 }, { held: 0 }];
    takeAll(share, [early]);
    for (let round = 0; round < 60; round++) {
      takeAll(share, [late, early]);
      share.release(early, 1);
    }
    takeAll(share, [late, early]);
    assert.ok(Math.abs(early.held - late.held) <= 1, `${early.held} and ${late.held}`);
  });

  test('of one can be taken', () => {
    const share = new FairShare(1);
    const [one, other] = [{ held: 0 }, { held: 0 }];
    assert.equal(share.take(one, 1), true);
    assert.equal(share.take(other, 1), false);
    share.release(one, 1);
    assert.equal(share.take(other, 1), true);
  });

  test('takes nothing if it refuses', () => {
    const share = new FairShare(100);
    const holding = { held: 0 };
    assert.equal(share.take(holding, 101), false);
    assert.deepEqual([holding.held, share.used], [0, 0]);
    assert.equal(share.take(holding, 100), true);
    share.release(holding, 40);
    assert.deepEqual([holding.held, share.used], [60, 60]);
  });
});
