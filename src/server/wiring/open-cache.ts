import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { collectionMetrics, showRevisions } from '../../cache/collection-metrics.ts';
import { ConsistencyChecker } from '../../cache/consistency-checker.ts';
import { createWatchCache, type WatchCacheOptions } from '../../cache/watch-cache.ts';
import type { Kind } from '../../kinds/kind.ts';
import { defaultScope } from '../../meta/scope.ts';
import { cachedResources } from '../../resources/resource.ts';
import type { Store } from '../../store/store.ts';
import { ScopeTables } from './scopes/scope-tables.ts';

interface CacheParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

interface OpenCacheParts extends CacheParts {
  readonly historyGrew: NonNullable<WatchCacheOptions['historyGrew']>;
  readonly sharing: WatchCacheOptions['sharing'];
}

/** The loaded cache of these kinds, and the tables of resources; initially of the default scope only. */
export async function openCache(
  kinds: readonly Kind[],
  { store, clock, random, logger, metrics, historyGrew, sharing }: OpenCacheParts,
): Promise<{ readonly cache: WatchCache; readonly tables: ScopeTables }> {
  const cache = createWatchCache({
    ...{ store, clock, random, logger, historyGrew, sharing },
    resources: cachedResources(defaultScope, kinds),
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
  await cache.ready();
  showRevisions(metrics, cache);
  return { cache, tables: new ScopeTables(kinds, cache) };
}

/** Compares the cache with the store periodically until closed. */
export function startConsistencyChecker(
  cache: WatchCache,
  { store, clock, random, logger, metrics }: CacheParts,
): Closable {
  const mismatches = metrics.count({
    name: 'orch_cache_mismatches_total',
    help: 'Resources whose cache was found to differ from the store.',
  });
  const checker = new ConsistencyChecker({ ...{ cache, store, clock, random, logger }, metrics: { mismatches } });
  checker.start();
  return checker;
}
