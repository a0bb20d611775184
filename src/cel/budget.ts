import { limits } from '../base/limits.ts';

/**
 * What a set of expressions may cost together: make one per request and pass it to each evaluation. Costs are counted as
 * published 1.32 servers count them, roughly one for each value that is looked at and a tenth for each character.
 */
export class CelBudget {
  #left: number;

  constructor(total: number = limits.celBudget) {
    this.#left = total;
  }

  get left(): number {
    return this.#left;
  }

  /** Takes what an evaluation has cost; may go below zero, after which nothing more is evaluated. */
  take(cost: number): void {
    this.#left -= cost;
  }
}
