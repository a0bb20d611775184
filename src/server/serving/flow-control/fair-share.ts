/** What one holder has of a share. */
export interface Holding {
  held: number;
}

/**
 * An amount that many share so that nobody gets all of it: a holder may take more only while it then holds no more than
 * what is free. One holder alone gets half, two get a third each, n get 1/(n+1) each, and as much stays free for whoever
 * comes next. Nothing is ever taken from a holder. (Known from switches as dynamic queue length thresholds.)
 */
export class FairShare {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** False, with nothing taken, where the holder would have more than what is free now. */
  take(holding: Holding, amount: number): boolean {
    if (!this.hasRoomFor(holding, amount)) return false;
    holding.held += amount;
    this.#used += amount;
    return true;
  }

  hasRoomFor({ held }: Holding, amount: number): boolean {
    return held + amount <= this.#max - this.#used;
  }

  giveBack(holding: Holding, amount: number): void {
    holding.held -= amount;
    this.#used -= amount;
  }
}
