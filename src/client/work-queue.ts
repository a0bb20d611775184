import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { type BackoffPolicy, backoffMs } from '../base/time/backoff.ts';
import type { Clock } from '../base/time/clock.ts';
import { type QueueObserver, unobserved, type WorkQueueMetrics } from './work-queue-metrics.ts';

interface WorkQueueOptions<T> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Name in metrics. */
  readonly name: string;
  /** Default: the queue is in no metrics. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
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
  /** In order of addition, with the monotonic time of it. */
  readonly #waiting = new Map<T, number>();
  /** With the monotonic time at which work began. */
  readonly #active = new Map<T, number>();
  /** Added while being processed, with the monotonic time of the first addition. */
  readonly #again = new Map<T, number>();
  readonly #failures = new Map<T, number>();
  readonly #timers = new Map<T, { readonly timer: Closable; readonly dueMs: number }>();
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #observer: QueueObserver;
  #closed = false;

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
    const { name, queueMetrics } = options;
    this.#observer = queueMetrics?.observe(name, this) ?? unobserved;
  }

  /** Items that wait to be processed now. */
  get depth(): number {
    return this.#waiting.size + this.#again.size;
  }

  /** How long each item in progress has been processed. Milliseconds. */
  *workInProgress(): IterableIterator<number> {
    const now = this.#options.clock.monotonic();
    for (const startedMs of this.#active.values()) yield now - startedMs;
  }

  /** Items that wait, are being processed, or are due for a later addition. */
  get size(): number {
    return this.#waiting.size + this.#active.size + this.#timers.size;
  }

  add(item: T): void {
    if (this.#closed || this.#waiting.has(item) || this.#again.has(item)) return;
    this.#observer.added();
    const now = this.#options.clock.monotonic();
    if (this.#active.has(item)) this.#again.set(item, now);
    else this.#waiting.set(item, now);
    this.#next();
  }

  /** Adds the item after the delay. Of several pending additions the earliest counts. */
  addAfter(item: T, delayMs: number): void {
    if (this.#closed) return;
    this.#observer.retried();
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
    const now = this.#options.clock.monotonic();
    for (const [item, addedMs] of this.#waiting) {
      if (this.#active.size >= this.#options.parallel) return;
      this.#waiting.delete(item);
      this.#active.set(item, now);
      this.#observer.started(now - addedMs);
      void this.#run(item, now);
    }
  }

  async #run(item: T, startedMs: number): Promise<void> {
    try {
      await this.#options.work(item);
      this.#failures.delete(item);
    } catch (error) {
      this.#retry(item, error);
    }
    this.#active.delete(item);
    this.#observer.finished(this.#options.clock.monotonic() - startedMs);
    const again = this.#again.get(item);
    if (again !== undefined) {
      this.#again.delete(item);
      this.#waiting.set(item, again);
    }
    this.#next();
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
    this.#observer.close();
  }
}
