/** Limits the number of concurrent operations. Waiters are served in FIFO order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when a slot is free; `release` returns it. Rejects if the signal is aborted first. */
  async acquire(signal: AbortSignal): Promise<void> {
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

  release(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#free += 1;
  }
}
