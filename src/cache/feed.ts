import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { type ChangeBatch, isStoreError, type Revision, type Store } from '../store/store.ts';

/** Waits that grow while nothing succeeds in between. */
export class Backoff {
  readonly #clock: Clock;
  #nextMs: number = limits.feedRetryMsMin;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reset(): void {
    this.#nextMs = limits.feedRetryMsMin;
  }

  /** Resolves when the wait is over or the signal aborts. */
  wait(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, limits.feedRetryMsMax);
    return pause(this.#clock, ms, signal);
  }
}

/** Resolves after `ms`, or when the signal aborts. Never rejects. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.close();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * The changes after `from`, across breaks of the store's feed: `unavailable` starts it again from where it was. Other
 * errors are thrown. Ends when the signal aborts.
 */
export async function* followChanges(options: {
  readonly store: Pick<Store, 'changes'>;
  readonly from: Revision;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}): AsyncGenerator<ChangeBatch, void> {
  const { store, signal, clock, logger } = options;
  const backoff = new Backoff(clock);
  let position = options.from;
  while (!signal.aborted) {
    try {
      for await (const batch of store.changes(position, signal)) {
        backoff.reset();
        yield batch;
        position = Math.max(position, batch.revision);
      }
    } catch (error) {
      if (!isStoreError(error, 'unavailable')) throw error;
      logger.warn('the feed of changes broke and is started again', { revision: position, error: error.message });
    }
    await backoff.wait(signal);
  }
}
