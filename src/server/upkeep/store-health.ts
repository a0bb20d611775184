import { type Clock, pause } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { type Store, StoreError } from '../../store/store.ts';

/**
 * Asks a store, for the health endpoints, whether it can be used. Calls within a second share an answer, so that a crowd of
 * probes costs one look; a store that does not answer in time is in trouble.
 */
export function storeHealth(store: Pick<Store, 'head'>, clock: Clock): () => Promise<string | undefined> {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let answer: Promise<string | undefined> = Promise.resolve(undefined);
  return () => {
    if (clock.monotonic() - askedAtMs >= limits.storeHealthMs) {
      askedAtMs = clock.monotonic();
      answer = ask(store, clock);
    }
    return answer;
  };
}

async function ask(store: Pick<Store, 'head'>, clock: Clock): Promise<string | undefined> {
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
