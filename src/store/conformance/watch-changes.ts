import assert from 'node:assert/strict';
import { type Change, type ChangeBatch, isStoreError, type Revision, type Store } from '../store.ts';

/**
 * A change stream consumed in the background as a correct client does: after `unavailable`, it resumes where it
 * stopped, but for a store that is closed. That ends it with the error.
 */
interface WatchedChanges {
  readonly batches: readonly ChangeBatch[];
  /**
   * Ends the stream and resolves to every change it delivered. Rejects if the stream failed or did not end on abort.
   */
  stop(): Promise<readonly Change[]>;
  /** Resolves once a batch reported `revision` or later. */
  reached(revision: Revision): Promise<void>;
}

export const watchChanges = (store: Store, from: Revision): WatchedChanges => {
  const abort = new AbortController();
  const batches: ChangeBatch[] = [];
  const waiting = new Set<() => void>();
  let failure: unknown;
  const wake = () => {
    for (const check of [...waiting]) check();
  };
  const position = () => batches.at(-1)?.revision ?? from;
  const run = async () => {
    while (!abort.signal.aborted) {
      try {
        for await (const batch of store.changes(position(), abort.signal)) {
          batches.push(batch);
          wake();
        }
        assert.ok(abort.signal.aborted, 'a change stream ended without an error before its signal aborted');
      } catch (error) {
        if (!isStoreError(error, 'unavailable') || error.message === closed) throw error;
      }
    }
  };
  const running = run().catch((error: unknown) => {
    failure = error;
    wake();
  });
  return {
    batches,
    async stop() {
      abort.abort();
      await running;
      if (failure) throw failure;
      return batches.flatMap((batch) => batch.changes);
    },
    reached: (revision) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (failure) reject(failure);
          else if (position() >= revision && batches.length > 0) resolve();
          else return;
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
  };
};

/** What every driver says of itself; it would say so for ever. */
const closed = 'the store is closed';

/** Reads the change stream from `from` until it has reported `until`, and returns the changes. */
export const readChanges = async (store: Store, from: Revision, until: Revision): Promise<readonly Change[]> => {
  if (until <= from) return [];
  const stream = watchChanges(store, from);
  await stream.reached(until);
  const changes = await stream.stop();
  return changes.filter((change) => change.revision <= until);
};
