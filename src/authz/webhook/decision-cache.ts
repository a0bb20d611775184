import type { Clock } from '../../base/time/clock.ts';
import type { Decision } from '../authorizer.ts';

interface DecisionCacheOptions {
  readonly clock: Clock;
  /** Lifetime of a decision in milliseconds; 0 disables the cache. */
  readonly ttlMs: number;
  readonly countMax: number;
}

/** Cache of decisions by request, with expiry. Evicts the least recently used. */
export class DecisionCache {
  readonly #options: DecisionCacheOptions;
  /** Most recently used last. */
  readonly #decisions = new Map<string, { readonly decision: Decision; readonly until: number }>();

  constructor(options: DecisionCacheOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#decisions.size;
  }

  get(question: string): Decision | undefined {
    const held = this.#decisions.get(question);
    if (!held) return undefined;
    this.#decisions.delete(question);
    if (this.#options.clock.monotonic() >= held.until) return undefined;
    this.#decisions.set(question, held);
    return held.decision;
  }

  set(question: string, decision: Decision): void {
    const { clock, ttlMs, countMax } = this.#options;
    if (ttlMs <= 0) return;
    this.#decisions.delete(question);
    this.#decisions.set(question, { decision, until: clock.monotonic() + ttlMs });
    if (this.#decisions.size <= countMax) return;
    for (const oldest of this.#decisions.keys()) {
      this.#decisions.delete(oldest);
      return;
    }
  }
}
