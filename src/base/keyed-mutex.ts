/**
 * A mutex per key: work on one key runs in order of arrival, work on different keys concurrently. Writers of one object
 * that wait here for each other do not race in the store, where all but one would fail and retry: n concurrent writers
 * make n attempts instead of n².
 */
export class KeyedMutex {
  /** By key: when the last queued work ends or leaves its turn. Contains only keys with work queued or in its turn. */
  readonly #last = new Map<string, Promise<void>>();

  /** Number of keys with work queued or in its turn. */
  get size(): number {
    return this.#last.size;
  }

  /** Whether work on the key is queued or in its turn. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  async run<T>(key: string, work: (turn: Turn) => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: left, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, left);
    const leave = (): void => {
      resolve();
      if (this.#last.get(key) === left) this.#last.delete(key);
    };
    try {
      if (before) await before;
      return await work({ waited: before !== undefined, leave });
    } finally {
      leave();
    }
  }
}

/** The turn of some work on a key. */
export interface Turn {
  /** Whether it had to wait for others. */
  readonly waited: boolean;
  /** Lets the next work on the key begin, although this one goes on. Once; further calls do nothing. */
  leave(): void;
}
