import { type Clock, pause } from './time/clock.ts';

interface SharedLookOptions {
  readonly clock: Clock;
  /** Between the beginnings of two looks. */
  readonly everyMs: number;
  /** Ends waiting. */
  readonly signal: AbortSignal;
  readonly look: () => Promise<void> | void;
}

/** Looks at something when asked, at most once in a while. All who wait share the next look. */
export class SharedLook {
  readonly #options: SharedLookOptions;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #next: Promise<void> | undefined;

  constructor(options: SharedLookOptions) {
    this.#options = options;
  }

  /** Resolves after a look that began after this call. */
  again(): Promise<void> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<void> {
    const { clock, everyMs, signal, look } = this.#options;
    const waitMs = this.#lookedAtMs + everyMs - clock.monotonic();
    // Never at once: those who ask in the same turn share it.
    await (waitMs > 0 ? pause(clock, waitMs, signal) : undefined);
    this.#next = undefined;
    this.#lookedAtMs = clock.monotonic();
    await look();
  }
}
