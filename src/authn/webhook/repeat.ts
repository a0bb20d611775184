import { type Clock, pause } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';

/** Each pause against the one before it. */
const pauseGrowth = 1.5;
/** Of a pause, added at random, so that many who wait don't come back together. */
const jitter = 0.2;

/** A failure; `again` where it may pass. */
export class AttemptError extends Error {
  readonly again: boolean;
  /** Not earlier. Milliseconds. */
  readonly pauseMs: number;

  constructor(message: string, options: ErrorOptions & { readonly again: boolean; readonly pauseMs?: number }) {
    super(message, options);
    this.name = 'AttemptError';
    this.again = options.again;
    this.pauseMs = options.pauseMs ?? 0;
  }
}

export interface RepeatContext {
  readonly clock: Clock;
  readonly random: Random;
  /** No attempt begins after this. Monotonic milliseconds. */
  readonly until: number;
}

/** Does it, and again after a pause that grows, as long as it fails with an AttemptError that may pass. */
export async function repeat<T>(attempt: () => Promise<T>, { clock, random, until }: RepeatContext): Promise<T> {
  for (let [attempts, pauseMs] = [1, limits.webhookRetryMs as number]; ; attempts++, pauseMs *= pauseGrowth) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof AttemptError) || !error.again || attempts === limits.webhookAttemptsMax) throw error;
      const [byte = 0] = random.bytes(1);
      const waitMs = Math.max(error.pauseMs, pauseMs * (1 + (jitter * byte) / 256));
      if (clock.monotonic() + waitMs >= until) throw error;
      await pause(clock, waitMs);
    }
  }
}
