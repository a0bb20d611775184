import type { Random } from './random.ts';

/** How pauses between attempts grow. */
export interface BackoffPolicy {
  /** Before the second attempt. */
  readonly firstMs: number;
  /** No pause is longer, its random part apart. */
  readonly maxMs: number;
  /** Each pause against the one before it. Absent: 2. */
  readonly growth?: number;
}

/** Of a pause, added at random, so that many who fail together don't come back together. */
const jitter = 0.2;

/** Milliseconds until the next attempt, after so many failures in a row (1 or more). */
export function backoffMs({ firstMs, maxMs, growth = 2 }: BackoffPolicy, failures: number, random: Random): number {
  const [byte = 0] = random.bytes(1);
  return Math.min(firstMs * growth ** (failures - 1), maxMs) * (1 + (jitter * byte) / 256);
}

/** Pauses of one that fails again and again; they start anew after a success. */
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

  /** Counts a failure; milliseconds until the next attempt. */
  next(): number {
    this.#failures++;
    return backoffMs(this.#policy, this.#failures, this.#random);
  }

  /** It succeeded. */
  reset(): void {
    this.#failures = 0;
  }
}
