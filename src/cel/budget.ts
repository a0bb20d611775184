import { limits } from '../base/limits.ts';

/**
 * The shared cost budget of a set of expressions: create one per request and pass it to each evaluation. Costs are
 * counted as in kube-apiserver 1.32: roughly one per value examined, and a tenth per character.
 */
export class CelBudget {
  /** Cost of one step that cannot be interrupted, such as a call of `matches`: beyond it, evaluations throw LongWork. */
  readonly stepMax: number;
  #left: number;
  #work: number;

  /** `work` limits what evaluations may do at once, without questions to others. */
  constructor(
    total: number = limits.celBudget,
    work = Number.POSITIVE_INFINITY,
    { stepMax = Number.POSITIVE_INFINITY }: { readonly stepMax?: number } = {},
  ) {
    this.#left = total;
    this.#work = work;
    this.stepMax = stepMax;
  }

  get left(): number {
    return this.#left;
  }

  get work(): number {
    return this.#work;
  }

  /** Deducts the cost of an evaluation. The budget may go below zero; after that, evaluations fail. */
  take(cost: number, work = cost): void {
    this.#left -= cost;
    this.#work -= work;
  }
}
