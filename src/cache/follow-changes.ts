import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { Backoff, type BackoffPolicy } from '../base/time/backoff.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import { type ChangeBatch, isStoreError, type Revision, type Store } from '../store/store.ts';

/** Back-off between attempts to read the store. */
export const changeStreamRetries: BackoffPolicy = {
  firstMs: limits.changeStreamRetryMsMin,
  maxMs: limits.changeStreamRetryMsMax,
};

/**
 * The changes after `from`. If the store's change stream breaks with `unavailable`, it is reopened at the current position;
 * other errors are thrown. Ends when the signal aborts.
 */
export async function* followChanges(options: {
  readonly store: Pick<Store, 'changes'>;
  readonly from: Revision;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}): AsyncGenerator<ChangeBatch, void> {
  const { store, signal, clock, random, logger } = options;
  const backoff = new Backoff(changeStreamRetries, random);
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
      logger.warn('the change stream broke and is restarted', { revision: position, error: error.message });
    }
    await pause(clock, backoff.next(), signal);
  }
}
