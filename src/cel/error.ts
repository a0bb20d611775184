/** Where in the source something stands; both count from 1, columns in UTF-16 units. */
export interface CelPosition {
  readonly line: number;
  readonly column: number;
}

/** The expression cannot be evaluated, whatever its variables hold. The message says where and why. */
export class CelCompileError extends Error {
  readonly position: CelPosition | undefined;

  constructor(reason: string, position?: CelPosition) {
    super(position === undefined ? reason : `${position.line}:${position.column}: ${reason}`);
    this.name = 'CelCompileError';
    this.position = position;
  }
}

export type CelEvaluationCode =
  /** It would take more than `limits.celCostMax`, or more than is left of the shared budget. */
  | 'cost'
  /** Anything else: no such key, no such overload, a number out of its range. */
  | 'failed';

/** An evaluation came to no value. The message may name keys of the expression, never values of its variables. */
export class CelEvaluationError extends Error {
  readonly code: CelEvaluationCode;

  constructor(reason: string, code: CelEvaluationCode = 'failed') {
    super(reason);
    this.name = 'CelEvaluationError';
    this.code = code;
  }
}
