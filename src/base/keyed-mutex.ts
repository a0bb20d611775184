/**
 * A mutex for each key: work on one key runs in the order in which it came, work on different keys side by side. Writers
 * of one object that wait here for each other don't race in the store, where all but one would lose and begin anew: with n
 * of them at once that is n attempts instead of n².
 */
export class KeyedMutex {
  /** By key: the end of the last work that was asked for. Only keys that are being worked on are here. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Keys that are being worked on. */
  get size(): number {
    return this.#last.size;
  }

  /** `work` is told whether it runs at once, or later than others that it had to wait for. */
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
