import assert from 'node:assert/strict';
import { type Change, type ChangeBatch, isStoreError, type Revision, type Store } from '../store.ts';

/** A feed being followed in the background, the way a careful consumer does it: after `unavailable`, from where it was. */
interface FollowedFeed {
  readonly batches: readonly ChangeBatch[];
  /** Ends the feed and resolves to every change it gave. Rejects where the feed failed or did not end on abort. */
  stop(): Promise<readonly Change[]>;
  /** Resolves once a batch reported `revision` or more. */
  reached(revision: Revision): Promise<void>;
}

export const followFeed = (store: Store, from: Revision): FollowedFeed => {
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
        assert.ok(abort.signal.aborted, 'a feed ended without an error before its signal aborted');
      } catch (error) {
        if (!isStoreError(error, 'unavailable')) throw error;
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

/** Follows a feed from `from` until it reported `until`, and gives its changes. */
export const readFeed = async (store: Store, from: Revision, until: Revision): Promise<readonly Change[]> => {
  if (until <= from) return [];
  const feed = followFeed(store, from);
  await feed.reached(until);
  const changes = await feed.stop();
  return changes.filter((change) => change.revision <= until);
};
