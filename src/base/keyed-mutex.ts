/**
 * A mutex per key: work on one key runs in order of arrival, work on different keys concurrently. Writers of one object
 * that wait here for each other do not race in the store, where all but one would fail and retry: n concurrent writers
 * make n attempts instead of n².
 */
export class KeyedMutex {
  /** By key: the end of the last queued work. Contains only keys with work queued or running. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Number of keys with work queued or running. */
  get size(): number {
    return this.#last.size;
  }

  /** Tells `work` whether it runs at once, or had to wait for others. */
  async run<T>(key: string, work: (turn: 'atOnce' | 'later') => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const later = (): Promise<T> => work('later');
    const running = before ? before.then(later, later) : work('atOnce');
    this.#last.set(key, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key);
    }
  }
}
