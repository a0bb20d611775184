/** The amount that one holder has taken from a share. */
export interface Holding {
  held: number;
}

/**
 * A shared amount that no holder can exhaust: a holder may take more only if it then holds no more than what is free. A
 * single holder gets half, two get a third each, n get 1/(n+1) each, and the same amount stays free for newcomers.
 * Nothing is ever taken away from a holder. (Known from switches as dynamic queue length thresholds.)
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

  /** Returns false and takes nothing if the holder would then have more than what is free. */
  take(holding: Holding, amount: number): boolean {
    if (!this.hasRoomFor(holding, amount)) return false;
    holding.held += amount;
    this.#used += amount;
    return true;
  }

  hasRoomFor({ held }: Holding, amount: number): boolean {
    return held + amount <= this.#max - this.#used;
  }

  release(holding: Holding, amount: number): void {
    holding.held -= amount;
    this.#used -= amount;
  }
}
