import { inOwnTurn } from './turns.ts';

/**
 * Long work in slices, between which others get a turn of the event loop. Slices are counted in steps and not in time, so
 * that a run repeats; a step should take well below a millisecond.
 */
export class WorkSlices {
  readonly #stepsPerSlice: number;
  #steps = 0;
  /** While the next turn is waited for: work that shares the slices waits along. */
  #waiting: Promise<void> | undefined;

  constructor(stepsPerSlice: number) {
    this.#stepsPerSlice = stepsPerSlice;
  }

  /** To be awaited before each step: waits for the next turn of the event loop when the slice has had its steps. */
  step(): Promise<void> | undefined {
    if (!this.#waiting && ++this.#steps < this.#stepsPerSlice) return undefined;
    this.#waiting ??= new Promise<void>((resolve) => inOwnTurn(resolve, this)).then(() => {
      this.#steps = 0;
      this.#waiting = undefined;
    });
    return this.#waiting;
  }
}
