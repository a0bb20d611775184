import { limits } from '../../base/limits.ts';
import { inOwnTurn } from '../../base/time/turns.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { Validation } from '../validation.ts';
import type { ExpressionRole } from './expressions.ts';

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
 * Errors of expressions that do not compile. The expression language is loaded for the first one; until then, and between
 * expressions, others have their turn; long ones have turns of their own.
 */
export const expressionErrors = (checks: readonly ExpressionCheck[], options: CheckOptions = {}): Validation => (checks.length === 0 ? [] : compileAll(checks, options));

async function compileAll(checks: readonly ExpressionCheck[], options: CheckOptions): Promise<readonly FieldError[]> {
  const { ExpressionCompiler } = await import('./expressions.ts');
  const compiler = new ExpressionCompiler(options);
  const errors: FieldError[] = [];
  for (const [index, { path, source, role, variable }] of checks.entries()) {
    if (errors.length >= limits.findingsMax) break;
    const isLong = source.length > limits.inlineRuleLength;
    if (index > 0 && (isLong || index % limits.ruleStepsPerTurn === 0)) await ownTurn();
    const steps = variable === undefined ? compiler.compile(source, role) : compiler.addVariable(variable, source);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await ownTurn();
    const compiled = step.value;
    if (compiled.type === 'program') continue;
    const { detail, isInternal = false } = compiled;
    errors.push(isInternal ? { type: 'InternalError', field: path, detail } : invalid(path, source, detail));
  }
  return errors;
}

const ownTurn = (): Promise<void> => new Promise((resolve) => inOwnTurn(resolve));
