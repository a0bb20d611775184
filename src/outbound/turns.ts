/** Lets only so many do something at once; the others wait, and come in the order in which they have come. */
export class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when it is one's turn, which is to be given back. Rejects where the signal aborts before. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort);
    this.#waiting.add(resolve);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  giveBack(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#free += 1;
  }
}
