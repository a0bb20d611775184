import type { CelEvaluationCode } from './error.ts';
import type { Meter } from './meter.ts';

/**
 * Thrown where an evaluation comes to no value. Not an Error: `||` and `exists` go on after one (langdef, "Logical
 * Operators"), thousands of times where an expression wants it so, and a stack trace each time would cost more than all
 * else. A program turns it into a CelEvaluationError.
 */
export class CelFault {
  readonly reason: string;
  readonly code: CelEvaluationCode;

  constructor(reason: string, code: CelEvaluationCode = 'failed') {
    this.reason = reason;
    this.code = code;
  }
}

/** What `||` and macros may go on after, paid for; all else is thrown again. */
export function absorb(thrown: unknown, meter: Meter): CelFault {
  if (!(thrown instanceof CelFault) || thrown.code === 'cost') throw thrown;
  meter.spend(costOfFault);
  return thrown;
}

/** What throwing and catching takes, by what else could be done in that time. */
const costOfFault = 10;
