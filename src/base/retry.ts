import { type Clock, pause } from './clock.ts';
import { limits } from './limits.ts';
import type { Random } from './random.ts';

/** Each pause against the one before it. */
const pauseGrowth = 1.5;
/** Of a pause, added at random, so that many who fail together don't come back together. */
const jitter = 0.2;

interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** No attempt begins after this. Monotonic milliseconds. */
  readonly until: number;
  /** How long to wait at least before it is tried again, in milliseconds; undefined: it is not, the error stands. */
  readonly mayPass: (error: unknown) => number | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Does it, and again after a pause that grows, as published servers ask webhooks: at most `limits.webhookAttemptsMax` times in
 * all, and only after errors that may pass. Rejects with the last error.
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, random, until, mayPass, signal } = options;
  for (let [attempts, pauseMs] = [1, limits.webhookRetryMs as number]; ; attempts++, pauseMs *= pauseGrowth) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = attempts === limits.webhookAttemptsMax ? undefined : mayPass(error);
      if (waitMs === undefined) throw error;
      const [byte = 0] = random.bytes(1);
      const wholeMs = Math.max(waitMs, pauseMs * (1 + (jitter * byte) / 256));
      if (clock.monotonic() + wholeMs >= until) throw error;
      await pause(clock, wholeMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}
