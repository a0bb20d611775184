import { limits } from '../limits.ts';
import type { Clock } from './clock.ts';
import { inOwnTurn, workBegan } from './turns.ts';

interface TimeSliceOptions {
  /** The owner on whose behalf the work runs: owners take turns. Default: the work is its own owner. */
  readonly owner?: unknown;
  readonly sliceMs?: number;
}

/**
 * Splits long work on the event loop into slices of time. The work calls `over` now and then, at the cost of reading
 * the clock, and awaits `next` if the slice is over. All slices of one turn of the event loop share that turn's time: a
 * slice that starts late in a turn is short, or over immediately, so that work woken at the same time does not add up.
 */
export class TimeSlice {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #owner: unknown;
  readonly #sliceMs: number;
  #end: number;

  constructor(clock: Pick<Clock, 'monotonic'>, { owner, sliceMs = limits.sliceMs }: TimeSliceOptions = {}) {
    this.#clock = clock;
    this.#owner = owner ?? this;
    this.#sliceMs = sliceMs;
    this.#end = this.#endOfSlice();
  }

  get over(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  /** Yields, and starts the next slice in a turn of the event loop without any other slice. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => inOwnTurn(resolve, this.#owner));
    this.#end = this.#endOfSlice();
  }

  /** Yields if the time of this turn is over, as before a step that cannot be split. */
  async rest(): Promise<void> {
    if (this.over) await this.next();
  }

  #endOfSlice(): number {
    const began = workBegan(this.#clock);
    return Math.min(this.#clock.monotonic() + this.#sliceMs, began + limits.turnMs);
  }
}
