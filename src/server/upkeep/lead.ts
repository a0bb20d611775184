import { type Closable, ClosableStack } from '../../base/disposable.ts';

/**
 * Whether a server does what one server of a process does for all: compaction, expiry, initial objects, controllers.
 * Once it leads, it leads until it ends.
 */
export class Lead {
  #leads: boolean;
  #waiting = new Set<() => void>();

  constructor(leads: boolean) {
    this.#leads = leads;
  }

  get leads(): boolean {
    return this.#leads;
  }

  take(): void {
    if (this.#leads) return;
    this.#leads = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const begin of waiting) begin();
  }

  /** Begins work now, or when this server takes the lead. Closing ends it, or keeps it from beginning. */
  begin(work: () => Closable): Closable {
    const held = new ClosableStack();
    const start = (): void => void held.add(work());
    if (this.#leads) start();
    else {
      this.#waiting.add(start);
      held.add({ close: () => this.#waiting.delete(start) });
    }
    return held;
  }
}
