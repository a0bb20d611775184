import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { collectionMetrics } from '../../cache/collection-metrics.ts';
import { ConsistencyChecker } from '../../cache/consistency-checker.ts';
import type { WatchCacheOptions } from '../../cache/watch-cache.ts';
import type { Store } from '../../store/store.ts';

interface CheckerParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

type CacheMetrics = Required<Pick<WatchCacheOptions, 'metrics' | 'metricsOf'>>;

/** Of all caches of a server together. */
export const cacheMetrics = (metrics: Metrics): CacheMetrics => ({
  metrics: {
    reloads: metrics.count({
      name: 'orch_cache_reloads_total',
      help: 'Resources reloaded from the store after the start.',
    }),
    slowWatches: metrics.count({
      name: 'orch_cache_slow_watches_total',
      help: 'Watches closed because their client read too slowly.',
    }),
    corruptObjects: metrics.count({
      name: 'orch_cache_corrupt_objects_total',
      help: 'Stored values that are not valid objects of their resource.',
    }),
  },
  metricsOf: collectionMetrics(metrics),
});

/** What has a store, and the cache of its objects. */
export interface CachedStore {
  readonly store: Store;
  readonly cache: WatchCache;
}

/** Compares each cache with its store periodically until closed. */
export function startConsistencyCheckers(
  stores: readonly CachedStore[],
  { clock, random, logger, metrics }: CheckerParts,
): Closable {
  const mismatches = metrics.count({
    name: 'orch_cache_mismatches_total',
    help: 'Resources whose cache was found to differ from the store.',
  });
  const checkers = new ClosableStack();
  for (const { store, cache } of stores) {
    const checker = new ConsistencyChecker({ ...{ cache, store, clock, random, logger }, metrics: { mismatches } });
    checker.start();
    checkers.add(checker);
  }
  return checkers;
}
