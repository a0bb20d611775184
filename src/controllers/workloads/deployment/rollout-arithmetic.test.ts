import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundsOf, newReplicas, reduceFormer, type Sized, scaleAll, type Wanted } from './rollout-arithmetic.ts';

/** Expectations of kube-controller-manager 1.32. */

const rolling = (replicas: number, maxSurge: number | string = 0, maxUnavailable: number | string = 0): Wanted => ({
  replicas,
  rolling: { maxSurge, maxUnavailable },
});
const recreate = (replicas: number): Wanted => ({ replicas, rolling: undefined });

const set = (name: string, replicas: number, more: Partial<Sized> = {}): Sized => ({
  ...{ name, replicas, created: '', available: 0, desired: undefined, most: undefined },
  ...more,
});

describe('bounds of a rolling update', () => {
  for (const [wanted, maxSurge, maxUnavailable] of [
    [rolling(10, '39%', '39%'), 4, 3],
    [rolling(10, 0, '39%'), 0, 3],
    [rolling(10, '39%', 0), 4, 0],
    [rolling(10), 0, 1],
    // Never more than there are.
    [rolling(0, '0%', '0%'), 0, 0],
    [rolling(2, 0, 5), 0, 2],
    [rolling(2, '0%', '1%'), 0, 1],
    [rolling(1, '1%', '25%'), 1, 0],
    [rolling(2, '1%', '0%'), 1, 0],
    [rolling(4, '25%', '25%'), 1, 1],
    [recreate(5), 0, 0],
  ] as const) {
    it(JSON.stringify(wanted), () => assert.deepEqual(boundsOf(wanted), { maxSurge, maxUnavailable }));
  }
});

describe('replicas of the present template', () => {
  for (const [wanted, former, current, expected] of [
    [rolling(10), 10, 0, 0],
    [rolling(10, 2), 10, 0, 2],
    [rolling(10, 2), 5, 0, 7],
    [rolling(10, 2), 10, 2, 2],
    [rolling(10, 2), 2, 11, 10],
    [rolling(6, 10), 5, 2, 6],
    [recreate(3), 5, 1, 3],
  ] as const) {
    it(`${current} beside ${former} of ${JSON.stringify(wanted)}`, () =>
      assert.equal(newReplicas(wanted, former + current, current), expected));
  }
});

describe('steps by which former templates shrink', () => {
  for (const [what, wanted, present, former, expected] of [
    ['one at least may be missing', rolling(10), [0, 0], [[10, 10]], ['0:9']],
    ['as many as may be missing', rolling(10, 0, 2), [0, 0], [[10, 10]], ['0:8']],
    ['unavailable ones alone', rolling(10, 0, 2), [0, 0], [[10, 8]], ['0:8']],
    ['unavailable ones first', rolling(10, 0, 2), [0, 0], [[10, 9]], ['0:9', '0:8']],
    ['not for pods that are not available yet', rolling(10, 0, 2), [2, 0], [[8, 8]], []],
    ['for pods that are', rolling(10, 2, 0), [2, 2], [[10, 10]], ['0:8']],
    [
      'the older sets first',
      rolling(10, 2, 0),
      [5, 5],
      [
        [1, 1],
        [6, 6],
      ],
      ['0:0', '1:5'],
    ],
    ['nothing to shrink', rolling(10, 2, 2), [10, 10], [[0, 0]], []],
    ['a set that has not caught up yet', rolling(10, 2, 2), [2, 2], [[6, 8]], []],
  ] as const) {
    it(what, () => {
      const [replicas, available] = present;
      const sets = former.map(([size, up], index) => set(`${index}`, size, { available: up, created: `${index}` }));
      const steps = reduceFormer(wanted, set('new', replicas, { available }), sets);
      assert.deepEqual(
        steps.map(({ name, replicas: to }) => `${name}:${to}`),
        expected,
      );
    });
  }
});

describe('sizes of a deployment that is scaled', () => {
  /** Sets from the oldest to the newest; the newest is that of the present template unless `former` is true. */
  for (const [what, before, after, sizes, expected, former] of [
    ['10 to 12', rolling(10), rolling(12), [10], [12]],
    ['10 to 5', rolling(10), rolling(5), [10], [5]],
    ['in proportion, 5 to 10', rolling(5), rolling(10), [3, 2], [6, 4]],
    ['in proportion, 5 to 3', rolling(5), rolling(3), [3, 2], [2, 1]],
    ['in proportion, 9 to 4', rolling(9), rolling(4), [1, 8], [0, 4]],
    ['in proportion, 7 to 10', rolling(7), rolling(10), [2, 3, 2], [3, 4, 3]],
    ['in proportion, 13 to 8', rolling(13), rolling(8), [3, 8, 2], [2, 5, 1]],
    ['the newest gets the rest', rolling(3), rolling(4), [1, 1, 1], [1, 1, 2]],
    ['the oldest loses the rest', rolling(3), rolling(2), [1, 1, 1], [0, 1, 1]],
    ['without the present template', rolling(4), rolling(5), [2, 2], [2, 3], true],
    ['to nothing', rolling(6), rolling(0), [1, 2, 3], [0, 0, 0]],
    ['from nothing', rolling(6), rolling(6), [0, 0, 0], [0, 0, 6]],
    ['with surge', rolling(10, 2), rolling(20, 2), [6, 6], [11, 11]],
    ['of another size and surge', rolling(10, 3), rolling(50, 6), [8, 5], [34, 22]],
    ['another template as well', rolling(10), rolling(14), [3, 7], [4, 10], true],
    ['a broken new set leaves the others alone', rolling(2, 1, 1), rolling(2, 1, 1), [1, 2], [1, 2]],
    ['to be recreated', recreate(10), recreate(5), [3, 7], [3, 7]],
  ] as const) {
    it(what, () => {
      const most = before.replicas + boundsOf(before).maxSurge;
      const sets = sizes.map((replicas, index) =>
        set(`${index}`, replicas, { created: `${index}`, desired: before.replicas, most }),
      );
      const present = former ? undefined : sets.at(-1);
      const steps = scaleAll(
        after,
        present,
        sets.filter((each) => each !== present),
        0,
      );
      const result = new Map(sets.map(({ name, replicas }) => [name, replicas]));
      for (const { name, replicas } of steps) result.set(name, replicas);
      assert.deepEqual([...result.values()], expected);
    });
  }

  it('a set that has all wanted pods ends the others', () => {
    const [old, present] = [set('old', 1), set('new', 2, { available: 2, desired: 2 })];
    assert.deepEqual(scaleAll(rolling(2, 1), present, [old], 0), [{ name: 'old', replicas: 0 }]);
  });

  it('without its annotation, a set has a part of what is reported', () => {
    const sets = [set('a', 4, { created: '1' }), set('b', 6, { created: '2' })];
    assert.deepEqual(scaleAll(rolling(20), sets[1], sets.slice(0, 1), 10), [
      { name: 'b', replicas: 12 },
      { name: 'a', replicas: 8 },
    ]);
    assert.deepEqual(scaleAll(rolling(20), sets[1], sets.slice(0, 1), 0), [
      { name: 'b', replicas: 16 },
      { name: 'a', replicas: 4 },
    ]);
  });
});
