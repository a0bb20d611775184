import { limits } from '../../base/limits.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { tooLargeResourceVersion } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';
import type { VerbRequest } from '../verb.ts';
import type { Consistency } from './list-options.ts';

/**
 * Waits until the cache can serve a read of this consistency (spec section 4.5): *most recent* until it has everything
 * committed now; *not older than* and *exact* until it has reached the revision, at most `futureRevisionWaitMs`, then
 * 504. Returns undefined if there is nothing to wait for, the usual case, so that the read needs no promise and no
 * abort signal.
 */
export function awaitConsistency(
  cache: WatchCache,
  consistency: Consistency,
  client: Pick<VerbRequest, 'signal'>,
): Promise<unknown> | undefined {
  switch (consistency.type) {
    case 'any':
      return undefined;
    case 'mostRecent':
      return cache.isFresh() ? undefined : cache.fresh(client.signal);
    case 'notOlderThan':
    case 'exact':
      return consistency.revision <= cache.revision ? undefined : reach(cache, consistency.revision, client.signal);
  }
}

async function reach(cache: WatchCache, revision: Revision, signal: AbortSignal): Promise<void> {
  const reached = await cache.waitFor(revision, limits.futureRevisionWaitMs, signal);
  if (!reached) throw tooLargeResourceVersion(revision, cache.revision);
}
