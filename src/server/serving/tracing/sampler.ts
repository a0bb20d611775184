import type { Random } from '../../../base/random.ts';

/**
 * Takes some of many, each with the same probability and independently of all others. Draws how many are passed over
 * before the next one, which is geometrically distributed, so that those passed over cost a subtraction each.
 */
export class Sampler {
  readonly #random: Random;
  readonly #probability: number;
  #passedOver: number;

  constructor(probability: number, random: Random) {
    this.#random = random;
    this.#probability = probability;
    this.#passedOver = this.#draw();
  }

  take(): boolean {
    if (this.#passedOver > 0) {
      this.#passedOver -= 1;
      return false;
    }
    this.#passedOver = this.#draw();
    return true;
  }

  #draw(): number {
    if (this.#probability <= 0) return Number.POSITIVE_INFINITY;
    if (this.#probability >= 1) return 0;
    const bits = this.#random.bytes(6).reduce((value, byte) => value * 256 + byte, 0);
    return Math.floor(Math.log1p(-bits / 2 ** 48) / Math.log1p(-this.#probability));
  }
}
