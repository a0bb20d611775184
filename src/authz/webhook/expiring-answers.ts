import type { Clock } from '../../base/clock.ts';
import type { Decision } from '../authorizer.ts';

interface ExpiringAnswersOptions {
  readonly clock: Clock;
  /** How long an answer holds; 0: none is kept. Milliseconds. */
  readonly ttlMs: number;
  readonly countMax: number;
}

/** Decisions by question, for a time. When there are too many, those that nobody has asked for the longest go. */
export class ExpiringAnswers {
  readonly #options: ExpiringAnswersOptions;
  /** The most recently used last. */
  readonly #answers = new Map<string, { readonly decision: Decision; readonly until: number }>();

  constructor(options: ExpiringAnswersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#answers.size;
  }

  get(question: string): Decision | undefined {
    const answer = this.#answers.get(question);
    if (!answer) return undefined;
    this.#answers.delete(question);
    if (this.#options.clock.monotonic() >= answer.until) return undefined;
    this.#answers.set(question, answer);
    return answer.decision;
  }

  set(question: string, decision: Decision): void {
    const { clock, ttlMs, countMax } = this.#options;
    if (ttlMs <= 0) return;
    this.#answers.delete(question);
    this.#answers.set(question, { decision, until: clock.monotonic() + ttlMs });
    if (this.#answers.size <= countMax) return;
    for (const oldest of this.#answers.keys()) {
      this.#answers.delete(oldest);
      return;
    }
  }
}
