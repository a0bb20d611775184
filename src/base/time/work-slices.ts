import { inOwnTurn } from './turns.ts';

/**
 * Splits long work into slices of a number of steps and yields to the event loop between them. Slices are counted in
 * steps and not in time, so that runs are reproducible; a step should take well below a millisecond.
 */
export class WorkSlices {
  readonly #stepsPerSlice: number;
  #steps = 0;
  /** Pending while waiting for the next turn: work that shares the slices waits too. */
  #waiting: Promise<void> | undefined;

  constructor(stepsPerSlice: number) {
    this.#stepsPerSlice = stepsPerSlice;
  }

  /** Await before each step: waits for the next turn of the event loop if the slice has used up its steps. */
  step(): Promise<void> | undefined {
    if (!this.#waiting && ++this.#steps < this.#stepsPerSlice) return undefined;
    this.#waiting ??= new Promise<void>((resolve) => inOwnTurn(resolve, this)).then(() => {
      this.#steps = 0;
      this.#waiting = undefined;
    });
    return this.#waiting;
  }
}
