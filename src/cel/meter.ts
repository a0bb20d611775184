import { LongWork } from '../base/long-work.ts';
import type { CelBudget } from './budget.ts';
import { CelFault } from './fault.ts';
import type { FoldOperation } from './syntax.ts';

/** Counts the cost of one evaluation. */
export class Meter {
  readonly #costMax: number;
  readonly #workMax: number;
  readonly #stepMax: number;
  #spent = 0;
  #work = 0;
  #pausedAt = 0;

  /** `work` bounds an evaluation at once, `stepMax` what it does without a pause. */
  constructor(
    costMax: number,
    {
      work = Number.POSITIVE_INFINITY,
      stepMax = Number.POSITIVE_INFINITY,
    }: Partial<Pick<CelBudget, 'work' | 'stepMax'>> = {},
  ) {
    this.#costMax = costMax;
    this.#workMax = work;
    this.#stepMax = stepMax;
  }

  get spent(): number {
    return this.#spent;
  }

  /** The part of what was spent that the processor worked for. */
  get work(): number {
    return this.#work;
  }

  /** True once in a while: when so much was spent since the last time. */
  isPauseDue(cost: number): boolean {
    if (this.#spent - this.#pausedAt < cost) return false;
    this.#pausedAt = this.#spent;
    return true;
  }

  /** Called before the work, with an upper bound on its cost; throws a fault that no expression can absorb. */
  spend(cost: number): void {
    this.charge(cost);
    this.#work += cost;
    if (this.#work > this.#workMax) throw new CelFault('the evaluation takes long', 'work');
    if (cost > this.#stepMax) throw new LongWork();
  }

  /** As `spend`, of what has a price but is no work: a question to somebody else. */
  charge(cost: number): void {
    this.#spent += cost;
    if (this.#spent > this.#costMax) throw new CelFault('the expression costs more than it may', 'cost');
  }

  /** A tenth per character or byte traversed. */
  spendTraversal(length: number): void {
    this.spend(Math.ceil(length * costPerCharacter));
  }

  /** For what kube-apiserver charges a flat price that does not cover work on long values. */
  spendExcess(length: number): void {
    this.spend(Math.floor(length * costPerExcessCharacter));
  }
}

/** For strings and bytes that are traversed (as in kube-apiserver). */
export const costPerCharacter = 0.1;
/** Of a regular expression, by the length of its pattern: multiplies the cost of traversing the text. */
export const costPerPatternCharacter = 0.25;
/** For characters that are copied or compared by one call of the engine. Values of ordinary size cost nothing extra. */
const costPerExcessCharacter = 0.001;
/** For each list or map that an expression creates (as in kube-apiserver). */
export const costOfList = 10;
export const costOfMap = 30;
/** For each value of a constructed type (as in kube-apiserver). */
export const costOfConstruction = 40;

/** Of each iteration of a macro, besides its expressions: the condition, the variables and the result. */
export const turnCosts: Readonly<Record<FoldOperation, number>> = {
  all: 3,
  exists: 4,
  existsOne: 2,
  filter: 3 + costOfList,
  map: 2 + costOfList,
  transformList: 2 + costOfList,
  transformMap: 3,
  transformMapEntry: 2,
};

/** Once for each macro: what the result begins with, and reading it. */
export const foldCosts: Readonly<Record<FoldOperation, number>> = {
  all: 1,
  exists: 1,
  existsOne: 2,
  filter: 1 + costOfList,
  map: 1 + costOfList,
  transformList: 1 + costOfList,
  transformMap: 1 + costOfMap,
  transformMapEntry: 1 + costOfMap,
};
