import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import { type Revision, type Store, StoreError } from '../../store/store.ts';

/** Answer of the store: its head, or what is wrong with it. */
type StoreAnswer = { readonly head: Revision } | { readonly problem: string };

/** Asks the store for its head, and waits for so many milliseconds. Default: `limits.storeHealthWaitMs`. */
export type StoreProbe = (waitMs?: number) => Promise<StoreAnswer>;

/**
 * Probe for the health endpoints. Calls within a second share an answer, so that many of them cost one query; a store
 * that does not answer in time has a problem.
 */
export function storeProbe(store: Pick<Store, 'head'>, clock: Clock): StoreProbe {
  let last: { readonly askedAtMs: number; readonly answer: Promise<StoreAnswer> } | undefined;
  return async (waitMs = limits.storeHealthWaitMs) => {
    const now = clock.monotonic();
    if (!last || now - last.askedAtMs >= limits.storeHealthMs) last = { askedAtMs: now, answer: ask(store) };
    return (await inTime(last.answer, waitMs, { clock })) ?? { problem: 'the store does not answer' };
  };
}

/** Store check of the health endpoints. */
export const storeHealth = (probe: StoreProbe, waitMs?: number) => async (): Promise<string | undefined> => {
  const answer = await probe(waitMs);
  return 'problem' in answer ? answer.problem : undefined;
};

const ask = (store: Pick<Store, 'head'>): Promise<StoreAnswer> =>
  store.head().then(
    (head) => ({ head }),
    (error: unknown) => ({ problem: error instanceof StoreError ? error.code : 'the store failed' }),
  );
