import { Backoff, type BackoffPolicy } from './backoff.ts';
import { type Clock, pause } from './clock.ts';
import { limits } from './limits.ts';
import type { Random } from './random.ts';

const pauses: BackoffPolicy = { firstMs: limits.webhookRetryMs, maxMs: Number.POSITIVE_INFINITY, growth: 1.5 };

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
  const backoff = new Backoff(pauses, random);
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = attempts === limits.webhookAttemptsMax ? undefined : mayPass(error);
      if (waitMs === undefined) throw error;
      const wholeMs = Math.max(waitMs, backoff.next());
      if (clock.monotonic() + wholeMs >= until) throw error;
      await pause(clock, wholeMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}
