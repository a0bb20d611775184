import { limits } from '../base/limits.ts';
import { CelCompileError } from './error.ts';
import { positionsOf } from './lexer.ts';

/** What is wrong with a source. The first ones are kept. */
export class Complaints {
  readonly #kept: { readonly at: number; readonly reason: string }[] = [];
  #count = 0;

  add(at: number, reason: string): void {
    if (this.#count++ < limits.celErrorsMax) this.#kept.push({ at, reason });
  }

  /** Throws all of them as one error, in order of the source; does nothing if there are none. */
  throw(source: string): void {
    if (this.#count === 0) return;
    const problems = this.#kept.toSorted((a, b) => a.at - b.at);
    const positions = positionsOf(
      source,
      problems.map(({ at }) => at),
    );
    const [first, ...shown] = problems.map(({ reason }, index) => ({ reason, position: positions[index] }));
    throw new CelCompileError(first?.reason ?? '', first?.position, { shown, left: this.#count - this.#kept.length });
  }
}
