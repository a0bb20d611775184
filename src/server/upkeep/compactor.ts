import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Count } from '../../cache/count.ts';
import type { Revision, Store } from '../../store/store.ts';
import { type HistoryMark, HistoryMarks } from './history-marks.ts';

/**
 * Forgets history, by two bounds:
 *
 * - *Time* (spec section 8: 5 minutes). It remembers what the head was every so often, and compacts up to the newest of
 *   these that has left the window. After a start nothing is forgotten for its age until the window has passed again, so a
 *   restart never shortens it.
 * - *Bytes*. Whoever rewrites a large object in a loop makes history faster than it ages: of more than `bytesMax` the
 *   oldest quarter is forgotten at once. Watches and reads from before then fail as they do after the window.
 *
 * What stood in the store at the start counts once `measure` has found it; where the store cannot tell, not at all.
 */
export class Compactor implements Closable {
  readonly #options: CompactorOptions;
  readonly #marks: HistoryMarks;
  /** Bytes that became history since the start, and how many of these are forgotten; negative: others are there still. */
  #grown = 0;
  #forgotten = 0;
  /** What had become history at the last mark that was made for its bytes. */
  #marked = 0;
  #shrinking = false;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#marks = new HistoryMarks(options.clock);
    this.#schedule();
  }

  /** Bytes of history, as far as is known: what was replaced by changes, and what comes with it. */
  get historyBytes(): number {
    return Math.max(0, this.#grown - this.#forgotten);
  }

  /** Changes up to `revision` have added so much to history. */
  historyGrew(bytes: number, revision: Revision): void {
    this.#grown += bytes;
    if (this.#grown - this.#marked >= this.#options.bytesMax / marksMin) {
      this.#marked = this.#grown;
      this.#marks.see(revision, this.#grown);
    }
    if (this.historyBytes > this.#options.bytesMax) void this.#shrink();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }

  /**
   * Counts the history that stood in the store at the start, when `head` was its last change. This reads the whole log: to be
   * called once others are served.
   */
  async measure(head: Revision): Promise<void> {
    const { store, logger, bytesMax } = this.#options;
    try {
      const bytes = (await store.historySize?.(head)) ?? 0;
      this.#forgotten -= bytes;
      if (bytes <= bytesMax || this.#closed) return;
      this.#marks.see(await store.head(), this.#grown);
      await this.#shrink();
    } catch (error) {
      if (!this.#closed) logger.warn('history could not be measured', { error });
    }
  }

  /** Until it is within its bytes, or nothing more can be done before it grows further. */
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
        logger.debug('history is forgotten before its time', { revision: mark.revision, bytes: this.historyBytes });
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

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(this.#options.windowMs / 5, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { store, logger, windowMs } = this.#options;
    try {
      this.#marks.see(await store.head(), this.#grown);
      const due = this.#marks.takeOlderThan(windowMs);
      if (due && !this.#closed) await this.#forget(due);
    } catch (error) {
      // Tried again next time: history that stays too long costs room, nothing else.
      if (!this.#closed) logger.warn('history could not be compacted', { error });
    }
    this.#schedule();
  }
}

/** History of all its bytes has at least so many marks to be cut at. */
const marksMin = 16;

/** How much of the bytes is left when history was cut, so that it is not cut for every write. */
const keptPart = 3 / 4;

export interface CompactorOptions {
  readonly store: Pick<Store, 'head' | 'compact' | 'historySize'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** History younger than this stays, in milliseconds, as long as it is within its bytes. */
  readonly windowMs: number;
  /** What history may take in the store. */
  readonly bytesMax: number;
  /** How often history had to go before its time. */
  readonly earlyCompactions?: Count;
}
