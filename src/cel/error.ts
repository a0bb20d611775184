import type { CelType } from './type.ts';

/** A position in the source; line and column start at 1, columns count UTF-16 code units. */
export interface CelPosition {
  readonly line: number;
  readonly column: number;
}

export interface CelProblem {
  readonly reason: string;
  readonly position?: CelPosition | undefined;
}

/** Further errors of a source, behind the first one, and the number of those that were not kept. */
interface OtherErrors {
  readonly shown: readonly CelProblem[];
  readonly left: number;
}

/** The expression is invalid, whatever the values of its variables. The message says where and why. */
export class CelCompileError extends Error {
  /** The message without the position. */
  readonly reason: string;
  readonly position: CelPosition | undefined;
  readonly others: OtherErrors;

  constructor(reason: string, position?: CelPosition, others: OtherErrors = { shown: [], left: 0 }) {
    super(position === undefined ? reason : `${position.line}:${position.column}: ${reason}`);
    this.name = 'CelCompileError';
    this.reason = reason;
    this.position = position;
    this.others = others;
  }
}

/** The types of the expression are right, but a constant in it has no value: `int("x")`. There is no position. */
export class CelInstantiationError extends CelCompileError {
  /** Of the expression. */
  readonly type: CelType;

  constructor(reason: string, type: CelType) {
    super(reason);
    this.name = 'CelInstantiationError';
    this.type = type;
  }
}

export type CelEvaluationCode =
  /** The evaluation would exceed `limits.celCostMax`, or the rest of the shared budget. */
  | 'cost'
  /** The evaluation would do more work than `CelBudget.work`. */
  | 'work'
  /** Anything else: no such key, no such overload, a number out of range. */
  | 'failed';

/** An evaluation failed. The message may name keys of the expression, never values of its variables. */
export class CelEvaluationError extends Error {
  readonly code: CelEvaluationCode;

  constructor(reason: string, code: CelEvaluationCode = 'failed') {
    super(reason);
    this.name = 'CelEvaluationError';
    this.code = code;
  }
}
