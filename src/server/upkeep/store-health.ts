import { limits } from '../../base/limits.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import { type Store, StoreError } from '../../store/store.ts';

/**
 * Store check of the health endpoints. Calls within a second share a result, so that many probes cost one query; a
 * store that does not answer in time is unhealthy.
 */
export function storeHealth(store: Pick<Store, 'head'>, clock: Clock): () => Promise<string | undefined> {
  let probedAtMs = Number.NEGATIVE_INFINITY;
  let answer: Promise<string | undefined> = Promise.resolve(undefined);
  return () => {
    if (clock.monotonic() - probedAtMs >= limits.storeHealthMs) {
      probedAtMs = clock.monotonic();
      answer = probe(store, clock);
    }
    return answer;
  };
}

async function probe(store: Pick<Store, 'head'>, clock: Clock): Promise<string | undefined> {
  const late = new AbortController();
  const answered = store.head().then(
    () => undefined,
    (error: unknown) => (error instanceof StoreError ? error.code : 'the store failed'),
  );
  const timeout = pause(clock, limits.storeHealthWaitMs, late.signal).then(() => 'the store does not answer');
  const trouble = await Promise.race([answered, timeout]);
  late.abort();
  return trouble;
}
