import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { runAll, slowStart } from './slow-start.ts';

const { signal } = new AbortController();
const failure = new Error('no');

describe('batches that begin slowly', () => {
  for (const [count, failsAt, called, done] of [
    [0, undefined, 0, 0],
    [1, undefined, 1, 1],
    [10, undefined, 10, 10],
    [10, 0, 1, 0],
    // The whole batch of the failure is tried: 1, 2, 4.
    [10, 1, 3, 2],
    [10, 5, 7, 6],
    [10, 8, 10, 9],
  ] as const) {
    it(`${count} calls, of which number ${failsAt ?? '-'} fails`, async () => {
      const calls: number[] = [];
      const result = await slowStart(
        count,
        async (index) => {
          calls.push(index);
          if (index === failsAt) throw failure;
        },
        signal,
      );
      assert.deepEqual(
        calls,
        Array.from({ length: called }, (_, index) => index),
      );
      assert.deepEqual(result, failsAt === undefined ? { done } : { error: failure, done });
    });
  }
});

it('never more than some at once', async () => {
  let [now, most] = [0, 0];
  const calls = Array.from({ length: 100 }, () => async () => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
  });
  assert.deepEqual(await runAll(calls, signal), []);
  assert.equal(most, limits.podWritesAtOnce);
});
