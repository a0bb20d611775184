import { limits } from '../limits.ts';
import type { Random } from '../random.ts';
import { Backoff, type BackoffPolicy } from './backoff.ts';
import { type Clock, pause } from './clock.ts';

const pauses: BackoffPolicy = { firstMs: limits.webhookRetryMs, maxMs: Number.POSITIVE_INFINITY, growth: 1.5 };

interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** No attempt starts after this time. Monotonic milliseconds. */
  readonly until: number;
  /** Minimum delay before a retry, in milliseconds; undefined if the error is permanent. */
  readonly retryAfterMs: (error: unknown) => number | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Runs `attempt`, and retries it with exponential back-off, as kube-apiserver does for webhooks: at most
 * `limits.webhookAttemptsMax` attempts, and only after transient errors. Rejects with the last error.
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, random, until, retryAfterMs, signal } = options;
  const backoff = new Backoff(pauses, random);
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = attempts === limits.webhookAttemptsMax ? undefined : retryAfterMs(error);
      if (waitMs === undefined) throw error;
      const wholeMs = Math.max(waitMs, backoff.next());
      if (clock.monotonic() + wholeMs >= until) throw error;
      await pause(clock, wholeMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}
