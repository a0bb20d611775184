import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Count } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Revision, Store } from '../../store/store.ts';
import { type HistoryMark, HistoryMarks } from './history-marks.ts';

/**
 * Compacts the store's history by age and size:
 *
 * - *Age* (spec section 8: 5 minutes). Records the head periodically, and compacts up to the newest recorded revision
 *   older than the window. After a start nothing is compacted by age until the window has passed, so a restart never
 *   shortens it.
 * - *Size*. A client that rewrites a large object in a loop produces history faster than it ages: beyond `bytesMax` the
 *   oldest quarter is compacted at once. Watches and reads from before then fail as they do after the window.
 *
 * Servers that share a store compact by age in turn (`Store.takeCompactionTurn`).
 *
 * History present at the start counts once `measure` has found it; never, if the store cannot tell.
 */
export class Compactor implements Closable {
  readonly #options: CompactorOptions;
  readonly #marks: HistoryMarks;
  /**
   * History bytes added since the start, and the part of them already compacted. The difference includes history from
   * before the start, for which `#forgotten` is lowered.
   */
  #grown = 0;
  #forgotten = 0;
  /** Value of `#grown` at the last mark set by size. */
  #marked = 0;
  #shrinking = false;
  #timer: Closable | undefined;
  #closed = false;
  /** Of the last attempt by age; it is logged once. */
  #problem = '';

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#marks = new HistoryMarks(options.clock);
    if (options.windowMs > 0) this.#schedule();
  }

  /** Known history bytes: replaced values and their overhead. */
  get historyBytes(): number {
    return Math.max(0, this.#grown - this.#forgotten);
  }

  /** Reports that changes up to `revision` added `bytes` to the history. */
  historyGrew(bytes: number, revision: Revision): void {
    this.#grown += bytes;
    if (this.#grown - this.#marked >= this.#options.bytesMax / marksMin) {
      this.#marked = this.#grown;
      this.#marks.record(revision, this.#grown);
    }
    if (this.historyBytes > this.#options.bytesMax && this.#options.windowMs > 0) void this.#shrink();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }

  /**
   * Measures the history present at the start, when `head` was its last change. Reads the whole log: call it once
   * clients are served.
   */
  async measure(head: Revision): Promise<void> {
    const { store, logger, bytesMax } = this.#options;
    try {
      const bytes = (await store.historySize?.(head)) ?? 0;
      this.#forgotten -= bytes;
      if (bytes <= bytesMax || this.#closed || this.#options.windowMs === 0) return;
      this.#marks.record(await store.head(), this.#grown);
      await this.#shrink();
    } catch (error) {
      if (!this.#closed) logger.warn('history could not be measured', { error });
    }
  }

  /** Compacts until the history is within its limit, or no mark is left to compact to. */
  async #shrink(): Promise<void> {
    if (this.#shrinking) return;
    this.#shrinking = true;
    const { bytesMax, logger } = this.#options;
    try {
      while (this.historyBytes > bytesMax && !this.#closed) {
        const mark = this.#marks.takeAt(this.#grown - bytesMax * keptPart);
        if (!mark) break;
        await this.#forget(mark);
        this.#options.earlyCompactions?.inc();
        logger.debug('history was compacted early', { revision: mark.revision, bytes: this.historyBytes });
      }
    } catch (error) {
      if (!this.#closed) logger.warn('history could not be compacted', { error });
    }
    this.#shrinking = false;
  }

  async #forget({ revision, bytes }: HistoryMark): Promise<void> {
    await this.#options.store.compact(revision);
    this.#forgotten = Math.max(this.#forgotten, bytes);
  }

  /** History that another server compacts is forgotten as well, about as much. */
  async #hasTurn({ revision, bytes }: HistoryMark): Promise<boolean> {
    const { store } = this.#options;
    const own = !store.takeCompactionTurn || (await store.takeCompactionTurn(revision));
    if (!own) this.#forgotten = Math.max(this.#forgotten, bytes);
    return own;
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(this.#options.windowMs / 5, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { store, logger, windowMs } = this.#options;
    try {
      this.#marks.record(await store.head(), this.#grown);
      const due = this.#marks.takeOlderThan(windowMs);
      if (!due || this.#closed) return this.#schedule();
      if (await this.#hasTurn(due)) await this.#forget(due);
      this.#problem = '';
    } catch (error) {
      // Retried at the next tick: history kept too long only costs space.
      const isNew = String(error) !== this.#problem;
      this.#problem = String(error);
      if (!this.#closed && isNew) logger.warn('history could not be compacted', { error });
    }
    this.#schedule();
  }
}

/** Minimum number of marks per `bytesMax` of history. */
const marksMin = 16;

/** The part of the limit that is kept, so that not every write triggers a compaction. */
const keptPart = 3 / 4;

export interface CompactorOptions {
  readonly store: Pick<Store, 'head' | 'compact' | 'historySize' | 'takeCompactionTurn'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Minimum age of compacted history within `bytesMax`. Milliseconds; 0: nothing is compacted, somebody else does. */
  readonly windowMs: number;
  /** Maximum bytes of history in the store. */
  readonly bytesMax: number;
  /** Counts compactions by size. */
  readonly earlyCompactions?: Count;
}
