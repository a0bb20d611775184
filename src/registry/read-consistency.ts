import { limits } from '../base/limits.ts';
import type { WatchCache } from '../cache/cache.ts';
import { tooLargeResourceVersion } from '../meta/status-error.ts';
import type { Consistency } from './list-options.ts';

/**
 * Waits until the cache may answer a read of that consistency (spec section 4.5): *most recent* until it shows all that
 * is durable now, *not older than* and *exact* until it has reached the version, for a bounded time, then 504.
 */
export async function awaitConsistency(
  cache: WatchCache,
  consistency: Consistency,
  signal: AbortSignal,
): Promise<void> {
  switch (consistency.type) {
    case 'any':
      return;
    case 'mostRecent':
      await cache.fresh(signal);
      return;
    case 'notOlderThan':
    case 'exact': {
      if (consistency.revision <= cache.revision) return;
      const reached = await cache.waitFor(consistency.revision, limits.futureRevisionWaitMs, signal);
      if (!reached) throw tooLargeResourceVersion(consistency.revision, cache.revision);
    }
  }
}
