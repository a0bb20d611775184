import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { connectionSpread } from './spread.ts';

/** What each thread is told, when it has so many connections. */
const rows: readonly (readonly [connections: readonly number[], sheds: readonly boolean[]])[] = [
  [
    [2, 0],
    [true, false],
  ],
  [
    [1, 1],
    [false, false],
  ],
  [
    [2, 1],
    [false, false],
  ],
  [
    [3, 1],
    [true, false],
  ],
  [
    [4, 0],
    [true, false],
  ],
  [
    [5, 3],
    [true, false],
  ],
  [
    [55, 45],
    [false, false],
  ],
  [
    [70, 30],
    [true, false],
  ],
  [
    [0, 0, 0, 8],
    [false, false, false, true],
  ],
];

for (const [connections, sheds] of rows) {
  test(`of ${connections.join(', ')} connections, ${sheds.indexOf(true) < 0 ? 'none moves' : 'one of the most moves'}`, () => {
    const memory = new SharedArrayBuffer(4 * connections.length);
    const clock = new ManualClock();
    const spreads = connections.map((_, number) =>
      connectionSpread({ connections: memory, number, threads: connections.length }, clock),
    );
    // Each tells its number first.
    new Int32Array(memory).set(connections);
    assert.deepEqual(
      spreads.map((spread, at) => spread.sheds(connections[at] ?? 0)),
      sheds,
    );
  });
}

test('what does not help is done less and less often', () => {
  const clock = new ManualClock();
  const spread = connectionSpread({ connections: new SharedArrayBuffer(8), number: 0, threads: 2 }, clock);
  const at: number[] = [];
  for (let second = 1; second <= 64; second++) {
    clock.advance(1_000);
    if (spread.sheds(4)) at.push(second);
  }
  assert.deepEqual(at, [1, 2, 4, 8, 16, 32, 64]);
});
