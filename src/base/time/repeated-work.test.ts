import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from './clock.ts';
import { RepeatedWork } from './repeated-work.ts';

describe('repeated work', () => {
  function repeated(work: () => Promise<void> = async () => {}) {
    const clock = new ManualClock();
    const rounds: number[] = [];
    const failures: string[] = [];
    const all = new RepeatedWork({
      clock,
      intervalMs: 10,
      work() {
        rounds.push(clock.monotonic());
        return work();
      },
      failed: (error) => failures.push(String(error)),
    });
    const pass = async (ms: number): Promise<void> => {
      for (let each = 0; each < ms; each++) {
        clock.advance(1);
        await turn();
      }
    };
    return { all, rounds, failures, pass };
  }

  it('begins at once, or after a delay, and goes on until it is closed', async () => {
    for (const delayMs of [0, 5]) {
      const { all, rounds, pass } = repeated();
      all.start(delayMs);
      await turn();
      await pass(25);
      assert.deepEqual(rounds, [delayMs, delayMs + 10, delayMs + 20]);
      all.close();
      await pass(25);
      assert.equal(rounds.length, 3);
    }
  });

  it('counts the interval from the end of a round', async () => {
    const gate = Promise.withResolvers<void>();
    const { all, rounds, pass } = repeated(() => gate.promise);
    all.start();
    await pass(30);
    assert.deepEqual(rounds, [0]);
    gate.resolve();
    await turn();
    await pass(10);
    assert.deepEqual(rounds, [0, 40]);
    all.close();
  });

  it('ends when the round under way has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const { all, rounds, pass } = repeated(() => gate.promise);
    all.start();
    let ended = false;
    const end = all.end().then(() => {
      ended = true;
    });
    await pass(30);
    assert.equal(ended, false);
    gate.resolve();
    await end;
    await pass(30);
    assert.deepEqual(rounds, [0]);
  });

  it('goes on after a round that failed, and tells of it', async () => {
    const { all, rounds, failures, pass } = repeated(() => Promise.reject(new Error('no')));
    all.start();
    await turn();
    await pass(10);
    assert.deepEqual(
      [rounds, failures],
      [
        [0, 10],
        ['Error: no', 'Error: no'],
      ],
    );
    all.close();
  });

  it('does not tell of a round that fails after it was closed, nor start another', async () => {
    const gate = Promise.withResolvers<void>();
    const { all, rounds, failures, pass } = repeated(() => gate.promise);
    all.start();
    all.close();
    assert.ok(all.closed);
    gate.reject(new Error('late'));
    await pass(20);
    assert.deepEqual([rounds, failures], [[0], []]);
  });
});
