import type { Clock } from './clock.ts';
import { limits } from './limits.ts';
import { inOwnTurn } from './turns.ts';

/**
 * Cuts long work on the event loop, so that others get their turn. Work asks `over` now and then, which costs a reading of
 * the clock, and awaits `next` when it is.
 */
export class TimeSlice {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #sliceMs: number;
  #end: number;

  constructor(clock: Pick<Clock, 'monotonic'>, sliceMs: number = limits.sliceMs) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
    this.#end = clock.monotonic() + sliceMs;
  }

  get over(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  /** Lets others run, and starts the next slice, in a turn of the event loop that no other slice has. */
  async next(): Promise<void> {
    await new Promise<void>(inOwnTurn);
    this.#end = this.#clock.monotonic() + this.#sliceMs;
  }
}
