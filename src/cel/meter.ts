import { CelFault } from './fault.ts';

/** Counts what one evaluation costs. */
export class Meter {
  readonly #costMax: number;
  #spent = 0;

  constructor(costMax: number) {
    this.#costMax = costMax;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Asked before the work is done, with what the work costs at most; throws a fault that nothing in the expression catches. */
  spend(cost: number): void {
    this.#spent += cost;
    if (this.#spent > this.#costMax) throw new CelFault('the expression costs more than it may', 'cost');
  }

  /** A tenth for each character or byte that is looked at. */
  spendTraversal(length: number): void {
    this.spend(Math.ceil(length * costPerCharacter));
  }
}

/** Of strings and bytes that are looked through (as published). */
export const costPerCharacter = 0.1;
/** Lists and maps that an expression makes (as published). */
export const costOfList = 10;
export const costOfMap = 30;
/** One turn of a macro beside what its expressions cost: its test, its variables. */
export const costOfTurn = 3;
