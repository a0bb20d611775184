import { CelFault } from './fault.ts';

/** Counts the cost of one evaluation. */
export class Meter {
  readonly #costMax: number;
  #spent = 0;
  #pausedAt = 0;

  constructor(costMax: number) {
    this.#costMax = costMax;
  }

  get spent(): number {
    return this.#spent;
  }

  /** True once in a while: when so much was spent since the last time. */
  isPauseDue(cost: number): boolean {
    if (this.#spent - this.#pausedAt < cost) return false;
    this.#pausedAt = this.#spent;
    return true;
  }

  /** Called before the work, with an upper bound on its cost; throws a fault that no expression can absorb. */
  spend(cost: number): void {
    this.#spent += cost;
    if (this.#spent > this.#costMax) throw new CelFault('the expression costs more than it may', 'cost');
  }

  /** A tenth per character or byte traversed. */
  spendTraversal(length: number): void {
    this.spend(Math.ceil(length * costPerCharacter));
  }
}

/** For strings and bytes that are traversed (as in kube-apiserver). */
export const costPerCharacter = 0.1;
/** For each list or map that an expression creates (as in kube-apiserver). */
export const costOfList = 10;
export const costOfMap = 30;
/** Overhead of one macro iteration besides its expressions: its condition and variables. */
export const costOfTurn = 3;
