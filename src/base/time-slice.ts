import type { Clock } from './clock.ts';
import { limits } from './limits.ts';
import { inOwnTurn, workBegan } from './turns.ts';

interface TimeSliceOptions {
  /** For whom the work is: owners take turns. Absent: the work is an owner of its own. */
  readonly owner?: unknown;
  readonly sliceMs?: number;
}

/**
 * Cuts long work on the event loop, so that others get their turn. Work asks `over` now and then, which costs a reading of
 * the clock, and awaits `next` when it is. All slices of one turn share what the turn may take: one that is begun late in a
 * turn is short, or over before it began, so that work which many were woken for together does not add up.
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

  /** Lets others run, and starts the next slice, in a turn of the event loop that no other slice has. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => inOwnTurn(resolve, this.#owner));
    this.#end = this.#endOfSlice();
  }

  #endOfSlice(): number {
    const began = workBegan(this.#clock);
    return Math.min(this.#clock.monotonic() + this.#sliceMs, began + limits.turnMs);
  }
}
