/**
 * A condition variable: `notifyAll` wakes all waiters. A wait ends with the next notification or the abort of its
 * signal.
 */
export class Condition {
  readonly #waiting = new Set<() => void>();

  /** Number of waiters. */
  get waiting(): number {
    return this.#waiting.size;
  }

  notifyAll(): void {
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of woken) wake();
  }

  /** Resolves at the next notification, or when `signal` aborts; at once if it is already aborted. Never rejects. */
  wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
