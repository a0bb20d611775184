import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { ExpressionEvaluation, ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledExpression } from '../../kinds/admissionregistration/expressions.ts';
import type { ValidatingPolicySpec } from '../../kinds/admissionregistration/validating-policy-schema.ts';

/** The expressions of a policy, compiled. */
export interface CompiledPolicy {
  /** Starts an evaluation with a budget of its own. */
  readonly begin: (input: ExpressionInput, clock: Clock) => ExpressionEvaluation;
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly value: CompiledExpression }[];
}

export interface CompiledValidation {
  readonly expression: CompiledExpression;
  /** Undefined if the text or the expression itself says why. */
  readonly messageExpression: CompiledExpression | undefined;
  readonly message: string;
  /** '' if the policy gives none. */
  readonly reason: string;
}

/** Compiles the expressions of a policy when it is first evaluated; the language is loaded then. */
export class PolicyExpressions {
  readonly #spec: ValidatingPolicySpec;
  #compiling: Promise<CompiledPolicy> | undefined;
  #compiled: CompiledPolicy | undefined;

  constructor(spec: ValidatingPolicySpec) {
    this.#spec = spec;
  }

  compiled(): CompiledPolicy | Promise<CompiledPolicy> {
    if (this.#compiled) return this.#compiled;
    this.#compiling ??= compile(this.#spec).then((compiled) => {
      this.#compiled = compiled;
      return compiled;
    });
    return this.#compiling;
  }
}

async function compile(spec: ValidatingPolicySpec): Promise<CompiledPolicy> {
  const { ExpressionCompiler } = await import('../../kinds/admissionregistration/expressions.ts');
  const { ExpressionEvaluation } = await import('../../kinds/admissionregistration/evaluate-expressions.ts');
  const { variables = [], validations = [], auditAnnotations = [], paramKind } = spec;
  const compiler = new ExpressionCompiler({ hasParams: paramKind !== undefined, hasVariables: true });
  for (const { name = '', expression = '' } of variables) compiler.addVariable(name, expression);
  return {
    begin: (input, clock) =>
      new ExpressionEvaluation(input, {
        variables: compiler.variables,
        budget: new CelBudget(limits.celBudget),
        clock,
      }),
    validations: validations.map(({ expression = '', message = '', messageExpression = '', reason = '' }) => ({
      expression: compiler.compile(expression, 'condition'),
      messageExpression: messageExpression === '' ? undefined : compiler.compile(messageExpression, 'message'),
      ...{ message, reason },
    })),
    auditAnnotations: auditAnnotations.map(({ key = '', valueExpression = '' }) => ({
      key,
      value: compiler.compile(valueExpression, 'auditAnnotation'),
    })),
  };
}
