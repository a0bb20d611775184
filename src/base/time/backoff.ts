import type { Random } from '../random.ts';

/** How the delays between attempts grow. */
export interface BackoffPolicy {
  /** Delay before the second attempt. */
  readonly firstMs: number;
  /** The longest delay, without jitter. */
  readonly maxMs: number;
  /** Factor between successive delays. Default: 2. */
  readonly growth?: number;
}

/** Fraction of a delay, added at random, so that clients that fail together do not retry together. */
const jitter = 0.2;

/** Milliseconds until the next attempt after this many consecutive failures (1 or more). */
export function backoffMs({ firstMs, maxMs, growth = 2 }: BackoffPolicy, failures: number, random: Random): number {
  return withJitter(Math.min(firstMs * growth ** (failures - 1), maxMs), random);
}

/** Up to a fifth more, so that those that begin together do not go on together. */
export function withJitter(delayMs: number, random: Random): number {
  const [byte = 0] = random.bytes(1);
  return delayMs * (1 + (jitter * byte) / 256);
}

/** Exponential back-off for a repeated operation; restarts after a success. */
export class Backoff {
  readonly #policy: BackoffPolicy;
  readonly #random: Random;
  #failures = 0;

  constructor(policy: BackoffPolicy, random: Random) {
    this.#policy = policy;
    this.#random = random;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure; returns the milliseconds until the next attempt. */
  next(): number {
    this.#failures++;
    return backoffMs(this.#policy, this.#failures, this.#random);
  }

  /** Records a success. */
  reset(): void {
    this.#failures = 0;
  }
}
