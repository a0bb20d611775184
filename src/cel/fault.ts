import type { CelEvaluationCode } from './error.ts';
import type { Meter } from './meter.ts';

/**
 * Thrown if an evaluation fails. Not an Error: `||` and `exists` can absorb it and continue (langdef, "Logical
 * Operators"), thousands of times if an expression is written so, and capturing a stack trace each time would dominate
 * the cost. A program converts it into a CelEvaluationError.
 */
export class CelFault {
  readonly reason: string;
  readonly code: CelEvaluationCode;

  constructor(reason: string, code: CelEvaluationCode = 'failed') {
    this.reason = reason;
    this.code = code;
  }
}

/** Returns a fault that `||` and macros may absorb, and charges for it; rethrows anything else. */
export function absorb(thrown: unknown, meter: Meter): CelFault {
  if (!(thrown instanceof CelFault) || thrown.code !== 'failed') throw thrown;
  meter.spend(costOfFault);
  return thrown;
}

/** The operations that the fault has skipped cost as much. */
const costOfFault = 1;
