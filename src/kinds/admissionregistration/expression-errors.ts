import { limits } from '../../base/limits.ts';
import { inTurns, type Steps } from '../../base/time/in-slices.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { Validation } from '../validation.ts';
import type { ExpressionCompiler, ExpressionRole } from './expressions.ts';

/** An expression that must compile. */
export interface ExpressionCheck {
  readonly path: string;
  readonly source: string;
  readonly role: ExpressionRole;
  /** The name of a variable, for the expressions after it. */
  readonly variable?: string;
}

interface CheckOptions {
  readonly hasParams?: boolean;
  readonly hasVariables?: boolean;
}

/**
 * Errors of expressions that do not compile. The expression language is loaded for the first one; until then, between
 * expressions, and between parts of long ones, others have their turn.
 */
export const expressionErrors = (checks: readonly ExpressionCheck[], options: CheckOptions = {}): Validation => (checks.length === 0 ? [] : compileAll(checks, options));

async function compileAll(checks: readonly ExpressionCheck[], options: CheckOptions): Promise<readonly FieldError[]> {
  const { ExpressionCompiler } = await import('./expressions.ts');
  return inTurns(compileEach(checks, new ExpressionCompiler(options)));
}

function* compileEach(checks: readonly ExpressionCheck[], compiler: ExpressionCompiler): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  for (const { path, source, role, variable } of checks) {
    if (errors.length >= limits.findingsMax) break;
    const compiled = yield* variable === undefined ? compiler.compile(source, role) : compiler.addVariable(variable, source);
    yield;
    if (compiled.type === 'program') continue;
    const { detail, isInternal = false } = compiled;
    errors.push(isInternal ? { type: 'InternalError', field: path, detail } : invalid(path, source, detail));
  }
  return errors;
}
