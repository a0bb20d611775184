import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Store } from '../store/store.ts';
import { RevisionAges } from './revision-ages.ts';

/**
 * Forgets history that is older than the window (spec section 8: 5 minutes): remembers what the head was every so
 * often, and compacts up to the newest of these that has left the window. After a start nothing is forgotten until the
 * window has passed again, so a restart never shortens it.
 */
export class Compactor implements Closable {
  readonly #options: CompactorOptions;
  readonly #ages: RevisionAges;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#ages = new RevisionAges(options.clock);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(this.#options.windowMs / 5, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { store, logger, windowMs } = this.#options;
    try {
      this.#ages.see(await store.head());
      const due = this.#ages.takeOlderThan(windowMs);
      if (due !== undefined && !this.#closed) await store.compact(due);
    } catch (error) {
      // Tried again next time: history that stays too long costs room, nothing else.
      if (!this.#closed) logger.warn('history could not be compacted', { error });
    }
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }
}

export interface CompactorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** History younger than this stays, in milliseconds. */
  readonly windowMs: number;
}
