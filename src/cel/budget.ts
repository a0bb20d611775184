import { limits } from '../base/limits.ts';

/**
 * The shared cost budget of a set of expressions: create one per request and pass it to each evaluation. Costs are
 * counted as in kube-apiserver 1.32: roughly one per value examined, and a tenth per character.
 */
export class CelBudget {
  #left: number;

  constructor(total: number = limits.celBudget) {
    this.#left = total;
  }

  get left(): number {
    return this.#left;
  }

  /** Deducts the cost of an evaluation. The budget may go below zero; after that, evaluations fail. */
  take(cost: number): void {
    this.#left -= cost;
  }
}
