import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { until } from '../waits-fixture.ts';
import { noJitter } from './backoff-fixture.ts';
import { ManualClock } from './clock.ts';
import { retry } from './retry.ts';

describe('retry', () => {
  /** Runs `retry` to its end on a manual clock; returns the times of the attempts. */
  async function run(
    outcomes: readonly ('ok' | 'passing' | 'lasting')[],
    { untilMs = 60_000, waitMs = 0, signal = new AbortController().signal } = {},
  ): Promise<{ readonly times: readonly number[]; readonly result: string }> {
    const clock = new ManualClock();
    const times: number[] = [];
    const attempt = async (): Promise<string> => {
      const outcome = outcomes[times.length] ?? 'passing';
      times.push(clock.monotonic());
      if (outcome === 'ok') return outcome;
      throw new Error(outcome);
    };
    let result: string | undefined;
    const retryAfterMs = (error: unknown): number | undefined =>
      String(error).includes('passing') ? waitMs : undefined;
    retry(attempt, { clock, random: noJitter, until: untilMs, retryAfterMs, signal }).then(
      (value) => {
        result = value;
      },
      (error: Error) => {
        result = error.message;
      },
    );
    await turn();
    await until(() => {
      if (result === undefined) clock.advance(1);
      return result !== undefined;
    }, 'it goes on for ever');
    return { times, result: String(result) };
  }

  it('retries with growing delays, a few times in all', async () => {
    const { times, result } = await run([]);
    assert.equal(limits.webhookAttemptsMax, 5);
    assert.deepEqual(times.map(Math.round), [0, 500, 1250, 2375, 4063]);
    assert.equal(result, 'passing');
  });

  it('returns the last result', async () => {
    assert.deepEqual(await run(['passing', 'ok']), { times: [0, 500], result: 'ok' });
    assert.deepEqual(await run(['passing', 'lasting']), { times: [0, 500], result: 'lasting' });
    assert.deepEqual(await run(['ok']), { times: [0], result: 'ok' });
  });

  it('waits at least the required delay, and not past its deadline', async () => {
    assert.deepEqual((await run(['passing', 'ok'], { waitMs: 700 })).times, [0, 700]);
    assert.deepEqual(await run(['passing', 'ok'], { untilMs: 400 }), { times: [0], result: 'passing' });
  });

  it('ends with the signal', async () => {
    const result = await run(['passing', 'ok'], { signal: AbortSignal.abort() });
    assert.deepEqual(result, { times: [0], result: 'passing' });
  });
});
