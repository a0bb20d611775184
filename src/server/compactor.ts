import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Revision, Store } from '../store/store.ts';

/**
 * Forgets history that is older than the window (spec section 8: 5 minutes): remembers what the head was every so
 * often, and compacts up to the newest of these that has left the window. After a start nothing is forgotten until the
 * window has passed again, so a restart never shortens it.
 */
export class Compactor implements Closable {
  readonly #options: CompactorOptions;
  readonly #heads: { readonly revision: Revision; readonly atMs: number }[] = [];
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(this.#options.windowMs / 5, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await this.#remember();
      const due = this.#takeDue();
      if (due !== undefined && !this.#closed) await store.compact(due);
    } catch (error) {
      // Tried again next time: history that stays too long costs room, nothing else.
      if (!this.#closed) logger.warn('history could not be compacted', { error });
    }
    this.#schedule();
  }

  async #remember(): Promise<void> {
    const { store, clock } = this.#options;
    const revision = await store.head();
    if (this.#heads.at(-1)?.revision !== revision) this.#heads.push({ revision, atMs: clock.monotonic() });
  }

  #takeDue(): Revision | undefined {
    const { clock, windowMs } = this.#options;
    let due: Revision | undefined;
    for (let oldest = this.#heads[0]; oldest && oldest.atMs + windowMs <= clock.monotonic(); oldest = this.#heads[0]) {
      due = oldest.revision;
      this.#heads.shift();
    }
    return due;
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
