import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { WatchCache } from '../../cache/cache.ts';
import type { Revision } from '../../store/store.ts';
import type { StoreProbe } from './store-health.ts';

interface CacheHealthOptions {
  readonly cache: Pick<WatchCache, 'revision' | 'lostSinceMs'>;
  readonly probe: StoreProbe;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Cache check of the health endpoints. The cache must be loaded, and must not lack a revision that an earlier check saw in
 * the store `limits.cacheBehindMsMax` ago, or have lost the changes for that long: watches would be silent, and reads of the most recent state would time out. A
 * store that does not answer is no problem of the cache.
 */
export function cacheHealth({ cache, probe, clock }: CacheHealthOptions): () => Promise<string | undefined> {
  let awaited: { readonly head: Revision; readonly sinceMs: number } | undefined;
  return async () => {
    if (cache.revision === 0) return 'the cache is not loaded';
    const answer = await probe();
    const lostMs = cache.lostSinceMs === undefined ? 0 : clock.monotonic() - cache.lostSinceMs;
    if ('head' in answer && lostMs > limits.cacheBehindMsMax) {
      return `the store's changes cannot be followed for ${Math.floor(lostMs / 1000)} s`;
    }
    if (awaited && awaited.head <= cache.revision) awaited = undefined;
    if ('head' in answer && answer.head > cache.revision) {
      awaited ??= { head: answer.head, sinceMs: clock.monotonic() };
    }
    if (!awaited) return undefined;
    const behindMs = clock.monotonic() - awaited.sinceMs;
    if (behindMs <= limits.cacheBehindMsMax) return undefined;
    return `the cache has not reached revision ${awaited.head} of the store for ${Math.floor(behindMs / 1000)} s`;
  };
}
