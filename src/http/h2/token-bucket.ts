import type { Clock } from '../../base/time/clock.ts';

/** Rate limiter (a token bucket): allows `perSecond` operations at once, replenished at the same rate. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#at = clock.monotonic();
  }

  /** Takes a token; false if there is none. */
  take(): boolean {
    if (this.#left < 1) {
      const now = this.#clock.monotonic();
      this.#left = Math.min(this.#perSecond, this.#left + ((now - this.#at) * this.#perSecond) / 1_000);
      this.#at = now;
    }
    this.#left -= 1;
    return this.#left >= 0;
  }
}
