import { type BackoffPolicy, backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';

interface WorkQueueOptions<T> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How many items are worked on at once. */
  readonly parallel: number;
  /** Does the work of one item. A rejection has it done again later. */
  readonly work: (item: T) => Promise<void>;
}

/** After failures of one item. */
const retries: BackoffPolicy = { firstMs: 5, maxMs: 60_000 };

/** Failures of one item in a row that are worth a line in the log, and how long none follows. */
const failuresTold = 8;
const toldMs = 60_000;

/**
 * Items to be worked on, each at most once at a time. An item that is added while it waits is worked on once; one that is
 * added while it is worked on, once more after that. Failures are repeated with growing pauses, for as long as they last.
 */
export class WorkQueue<T> implements Closable {
  readonly #options: WorkQueueOptions<T>;
  /** In the order of being added. */
  readonly #waiting = new Set<T>();
  readonly #active = new Set<T>();
  /** Added while being worked on. */
  readonly #again = new Set<T>();
  readonly #failures = new Map<T, number>();
  readonly #timers = new Map<T, Closable>();
  #toldAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
  }

  /** Items that wait, are worked on, or will be repeated. */
  get size(): number {
    return this.#waiting.size + this.#active.size + this.#timers.size;
  }

  add(item: T): void {
    if (this.#closed) return;
    if (this.#active.has(item)) this.#again.add(item);
    else this.#waiting.add(item);
    this.#next();
  }

  /** Adds the item later, unless it is added before. */
  addAfter(item: T, delayMs: number): void {
    if (this.#closed || this.#timers.has(item)) return;
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(item);
      this.add(item);
    });
    this.#timers.set(item, timer);
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

  /** What fails for long is told, now and then: a controller that may not do its work should not be silent. */
  #report(failures: number, fields: Readonly<Record<string, unknown>>): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    if (failures < failuresTold || now - this.#toldAt < toldMs) {
      logger.debug('work failed and is repeated', fields);
      return;
    }
    this.#toldAt = now;
    logger.warn('work keeps failing and is repeated', fields);
  }

  /** Starts nothing more. What is being worked on goes on to its end. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#again.clear();
    for (const timer of this.#timers.values()) timer.close();
    this.#timers.clear();
  }
}
