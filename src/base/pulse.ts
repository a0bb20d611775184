/** Wakes everybody who waits for the next beat. Nobody's wait outlives the beat or the abort of its signal. */
export class Pulse {
  readonly #waiting = new Set<() => void>();

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  beat(): void {
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of woken) wake();
  }

  /** Resolves at the next beat, or when `signal` aborts; at once when it is aborted already. Never rejects. */
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
