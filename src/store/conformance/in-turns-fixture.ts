import type { Store } from '../store.ts';

/** Several clients of one store as one: each call goes to the next of them. */
export function inTurns(stores: readonly Store[]): Store {
  let last = 0;
  const next = (): Store => stores[last++ % stores.length] as Store;
  return {
    head: () => next().head(),
    get knownHead() {
      return next().knownHead;
    },
    get: (...args) => next().get(...args),
    list: (...args) => next().list(...args),
    create: (...args) => next().create(...args),
    update: (...args) => next().update(...args),
    delete: (...args) => next().delete(...args),
    batch: (...args) => next().batch(...args),
    changes: (...args) => next().changes(...args),
    compact: (...args) => next().compact(...args),
    size: () => next().size(),
    historySize: async (upTo) => (await next().historySize?.(upTo)) ?? 0,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}
