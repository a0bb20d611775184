import { limits } from '../../base/limits.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import { type Revision, type Store, StoreError } from '../../store/store.ts';

/** Answer of the store: its head, or what is wrong with it. */
type StoreAnswer = { readonly head: Revision } | { readonly problem: string };

/** Asks the store for its head. */
export type StoreProbe = () => Promise<StoreAnswer>;

/**
 * Probe for the health endpoints. Calls within a second share an answer, so that many of them cost one query; a store
 * that does not answer in time has a problem.
 */
export function storeProbe(store: Pick<Store, 'head'>, clock: Clock): StoreProbe {
  let last: { readonly askedAtMs: number; readonly answer: Promise<StoreAnswer> } | undefined;
  return () => {
    const now = clock.monotonic();
    if (!last || now - last.askedAtMs >= limits.storeHealthMs) last = { askedAtMs: now, answer: ask(store, clock) };
    return last.answer;
  };
}

/** Store check of the health endpoints. */
export const storeHealth = (probe: StoreProbe) => async (): Promise<string | undefined> => {
  const answer = await probe();
  return 'problem' in answer ? answer.problem : undefined;
};

async function ask(store: Pick<Store, 'head'>, clock: Clock): Promise<StoreAnswer> {
  const late = new AbortController();
  const answered = store.head().then(
    (head) => ({ head }),
    (error: unknown) => ({ problem: error instanceof StoreError ? error.code : 'the store failed' }),
  );
  const timeout = pause(clock, limits.storeHealthWaitMs, late.signal).then(() => ({
    problem: 'the store does not answer',
  }));
  const answer = await Promise.race([answered, timeout]);
  late.abort();
  return answer;
}
