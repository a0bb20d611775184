import type { Closable } from '../../base/disposable.ts';
import type { Clock } from '../../base/time/clock.ts';

/**
 * Deadlines with one common delay: the oldest is always due first, so one timer and one ordered set serve any number of
 * requests. Precise to `precisionMs`.
 */
export class DeadlineQueue<T> implements Closable {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #expire: (item: T) => void;
  readonly #due = new Map<T, number>();
  #timer: Closable | undefined;

  constructor(options: { readonly clock: Clock; readonly afterMs: number; readonly expire: (item: T) => void }) {
    this.#clock = options.clock;
    this.#afterMs = options.afterMs;
    this.#expire = options.expire;
  }

  add(item: T): void {
    this.#due.set(item, this.#clock.monotonic() + this.#afterMs);
    this.#timer ??= this.#clock.after(precisionMs, () => this.#sweep());
  }

  remove(item: T): void {
    this.#due.delete(item);
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [item, due] of this.#due) {
      if (due > now) break;
      this.#due.delete(item);
      this.#expire(item);
    }
    this.#timer = this.#due.size > 0 ? this.#clock.after(precisionMs, () => this.#sweep()) : undefined;
  }

  close(): void {
    this.#timer?.close();
    this.#timer = undefined;
    this.#due.clear();
  }
}

const precisionMs = 1_000;
