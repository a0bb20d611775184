import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { type BackoffPolicy, backoffMs } from '../base/time/backoff.ts';
import type { Clock } from '../base/time/clock.ts';

interface WorkQueueOptions<T> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Maximum number of items processed concurrently. */
  readonly parallel: number;
  /** Processes one item. If it rejects, the item is retried. */
  readonly work: (item: T) => Promise<void>;
}

/** Retries of one item. */
const retries: BackoffPolicy = { firstMs: 5, maxMs: 60_000 };

/** Number of consecutive failures of an item from which on a warning is logged, and the minimum interval between warnings. */
const failuresBeforeWarning = 8;
const warningIntervalMs = 60_000;

/**
 * Queue of items to process, each at most once at a time. An item added while it waits is processed once; one added while it is
 * being processed is processed once more. Failed items are retried with growing pauses until they succeed.
 */
export class WorkQueue<T> implements Closable {
  readonly #options: WorkQueueOptions<T>;
  /** In order of addition. */
  readonly #waiting = new Set<T>();
  readonly #active = new Set<T>();
  /** Added while being processed. */
  readonly #again = new Set<T>();
  readonly #failures = new Map<T, number>();
  readonly #timers = new Map<T, { readonly timer: Closable; readonly dueMs: number }>();
  #warnedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
  }

  /** Items that wait, are being processed, or are due for a later addition. */
  get size(): number {
    return this.#waiting.size + this.#active.size + this.#timers.size;
  }

  add(item: T): void {
    if (this.#closed) return;
    if (this.#active.has(item)) this.#again.add(item);
    else this.#waiting.add(item);
    this.#next();
  }

  /** Adds the item after the delay. Of several pending additions the earliest counts. */
  addAfter(item: T, delayMs: number): void {
    if (this.#closed) return;
    const { clock } = this.#options;
    const dueMs = clock.monotonic() + delayMs;
    const pending = this.#timers.get(item);
    if (pending && pending.dueMs <= dueMs) return;
    pending?.timer.close();
    const timer = clock.after(delayMs, () => {
      this.#timers.delete(item);
      this.add(item);
    });
    this.#timers.set(item, { timer, dueMs });
  }

  /** Cancels a pending later addition, for an item that is gone. */
  forget(item: T): void {
    this.#timers.get(item)?.timer.close();
    this.#timers.delete(item);
    this.#failures.delete(item);
  }

  #next(): void {
    for (const item of this.#waiting) {
      if (this.#active.size >= this.#options.parallel) return;
      this.#waiting.delete(item);
      this.#active.add(item);
      void this.#run(item);
    }
  }

  async #run(item: T): Promise<void> {
    try {
      await this.#options.work(item);
      this.#failures.delete(item);
    } catch (error) {
      this.#retry(item, error);
    }
    this.#active.delete(item);
    if (this.#again.delete(item)) this.add(item);
    else this.#next();
  }

  #retry(item: T, error: unknown): void {
    if (this.#closed) return;
    const failures = (this.#failures.get(item) ?? 0) + 1;
    this.#failures.set(item, failures);
    const delayMs = backoffMs(retries, failures, this.#options.random);
    this.#report(failures, { failures, delayMs, error });
    this.addAfter(item, delayMs);
  }

  /** Warns about persistent failures at a limited rate, so that a controller without permission does not fail silently. */
  #report(failures: number, fields: Readonly<Record<string, unknown>>): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    if (failures < failuresBeforeWarning || now - this.#warnedAt < warningIntervalMs) {
      logger.debug('work failed and is repeated', fields);
      return;
    }
    this.#warnedAt = now;
    logger.warn('work keeps failing and is repeated', fields);
  }

  /** Starts no more work. Items being processed run to completion. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#again.clear();
    for (const { timer } of this.#timers.values()) timer.close();
    this.#timers.clear();
  }
}
