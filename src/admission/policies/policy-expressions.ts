import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { ExpressionEvaluation, ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledExpression, ExpressionCompiler } from '../../kinds/admissionregistration/expressions.ts';
import type { MutatingPolicySpec } from '../../kinds/admissionregistration/mutating-policy-schema.ts';
import type { ValidatingPolicySpec } from '../../kinds/admissionregistration/validating-policy-schema.ts';

/** The expressions of a policy, compiled. */
interface Evaluable {
  /** Starts an evaluation with a budget of its own; variables are evaluated anew. */
  readonly begin: (input: ExpressionInput, clock: Clock) => ExpressionEvaluation;
}

export type CompiledPolicy<T> = Evaluable & T;

/** Of a ValidatingAdmissionPolicy. */
export interface CompiledValidations {
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

/** Of a MutatingAdmissionPolicy. */
export interface CompiledMutations {
  readonly mutations: readonly CompiledMutation[];
}

export interface CompiledMutation {
  readonly type: 'applyConfiguration' | 'jsonPatch';
  readonly expression: CompiledExpression;
}

/** What the specs of both kinds have. */
type PolicySpec = Pick<ValidatingPolicySpec, 'variables' | 'paramKind'>;

/** Compiles the expressions of a policy when it is first evaluated; the language is loaded then. */
export class PolicyExpressions<T extends object> {
  readonly #compile: () => Promise<CompiledPolicy<T>>;
  #compiling: Promise<CompiledPolicy<T>> | undefined;
  #compiled: CompiledPolicy<T> | undefined;

  /** `read` compiles all expressions but variables. */
  constructor(spec: PolicySpec, read: (compiler: ExpressionCompiler, spec: never) => T) {
    this.#compile = () => compile(spec, (compiler) => read(compiler, spec as never));
  }

  compiled(): CompiledPolicy<T> | Promise<CompiledPolicy<T>> {
    if (this.#compiled) return this.#compiled;
    this.#compiling ??= this.#compile().then((compiled) => {
      this.#compiled = compiled;
      return compiled;
    });
    return this.#compiling;
  }
}

async function compile<T extends object>(
  { variables = [], paramKind }: PolicySpec,
  read: (compiler: ExpressionCompiler) => T,
): Promise<CompiledPolicy<T>> {
  const { ExpressionCompiler } = await import('../../kinds/admissionregistration/expressions.ts');
  const { ExpressionEvaluation } = await import('../../kinds/admissionregistration/evaluate-expressions.ts');
  const compiler = new ExpressionCompiler({ hasParams: paramKind !== undefined, hasVariables: true });
  for (const { name = '', expression = '' } of variables) compiler.addVariable(name, expression);
  return {
    begin: (input, clock) =>
      new ExpressionEvaluation(input, {
        variables: compiler.variables,
        budget: new CelBudget(limits.celBudget),
        clock,
      }),
    ...read(compiler),
  };
}

export const validationsOf = (
  compiler: ExpressionCompiler,
  { validations = [], auditAnnotations = [] }: ValidatingPolicySpec,
): CompiledValidations => ({
  validations: validations.map(({ expression = '', message = '', messageExpression = '', reason = '' }) => ({
    expression: compiler.compile(expression, 'condition'),
    messageExpression: messageExpression === '' ? undefined : compiler.compile(messageExpression, 'message'),
    ...{ message, reason },
  })),
  auditAnnotations: auditAnnotations.map(({ key = '', valueExpression = '' }) => ({
    key,
    value: compiler.compile(valueExpression, 'auditAnnotation'),
  })),
});

export const mutationsOf = (
  compiler: ExpressionCompiler,
  { mutations = [] }: MutatingPolicySpec,
): CompiledMutations => ({
  mutations: mutations.map(({ patchType, applyConfiguration, jsonPatch }) => {
    const type = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
    const { expression = '' } = (type === 'jsonPatch' ? jsonPatch : applyConfiguration) ?? {};
    return { type, expression: compiler.compile(expression, type) };
  }),
});
