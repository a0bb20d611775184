import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LevelSpec } from '../../../kinds/flowcontrol/flow-schemas.ts';
import { priorityLevel, seatBounds } from './priority-levels.ts';

const queue = (queues: number, queueLengthLimit: number) => ({
  limitResponse: { type: 'Queue', queuing: { queues, queueLengthLimit, handSize: 1 } },
});

const specs: readonly [what: string, spec: LevelSpec, read: object][] = [
  [
    'with defaults',
    { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    { shares: 30, lendable: 0, borrowable: Number.POSITIVE_INFINITY, waitingMax: 0 },
  ],
  [
    'that queues',
    {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 40, borrowingLimitPercent: 50, ...queue(2, 10) },
    },
    { shares: 5, lendable: 0.4, borrowable: 0.5, waitingMax: 20 },
  ],
  [
    'with long queues',
    { type: 'Limited', limited: queue(128, 50) },
    { shares: 30, lendable: 0, borrowable: Number.POSITIVE_INFINITY, waitingMax: 1_000 },
  ],
  [
    'that is exempt',
    { type: 'Exempt', exempt: { nominalConcurrencyShares: 7, lendablePercent: 10 } },
    { shares: 7, lendable: 0.1, borrowable: Number.POSITIVE_INFINITY, waitingMax: 0 },
  ],
];
for (const [what, spec, read] of specs) {
  test(`a level ${what}`, () => assert.deepEqual(priorityLevel('l', spec), { name: 'l', ...read }));
}

const level = (name: string, shares: number, lendable: number, borrowable = Number.POSITIVE_INFINITY) => ({
  name,
  shares,
  lendable,
  borrowable,
  waitingMax: 0,
});

const shared: readonly [
  what: string,
  levels: readonly ReturnType<typeof level>[],
  bounds: readonly [nominal: number, lower: number, upper: number][],
][] = [
  ['one level', [level('a', 3, 0)], [[100, 100, 100]]],
  [
    'what is not lent stays',
    [level('a', 1, 0), level('b', 3, 1)],
    [
      [25, 25, 100],
      [75, 0, 75],
    ],
  ],
  [
    'a limit to borrowing',
    [level('a', 1, 0, 1), level('b', 3, 1, 0)],
    [
      [25, 25, 50],
      [75, 0, 75],
    ],
  ],
  [
    'no shares',
    [level('a', 0, 0), level('b', 1, 0.5)],
    [
      [0, 0, 50],
      [100, 50, 100],
    ],
  ],
  [
    'no shares, and nothing to borrow',
    [level('a', 0, 0, 0), level('b', 1, 0.5)],
    [
      [0, 0, 1],
      [100, 50, 100],
    ],
  ],
  ['no shares at all', [level('a', 0, 0)], [[0, 0, 100]]],
];
for (const [what, levels, bounds] of shared) {
  test(`seats: ${what}`, () => {
    const got = [...seatBounds(levels, 100).values()].map(({ nominal, lower, upper }) => [nominal, lower, upper]);
    assert.deepEqual(got, bounds);
  });
}
