import { limits } from '../../base/limits.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { tooLargeResourceVersion } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';
import type { VerbRequest } from '../verb.ts';
import type { Consistency } from './list-options.ts';

/**
 * Waits until the cache may answer a read of that consistency (spec section 4.5): *most recent* until it shows all that
 * is durable now, *not older than* and *exact* until it has reached the version, for a bounded time, then 504. Undefined
 * where there is nothing to wait for, as nearly always: then a read needs no promise, and no signal of its client's.
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
