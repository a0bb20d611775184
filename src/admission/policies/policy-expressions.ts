import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inSlices, type Steps } from '../../base/time/in-slices.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { ExpressionEvaluation, ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledExpression, ExpressionCompiler } from '../../kinds/admissionregistration/expressions.ts';
import type { MutatingPolicySpec } from '../../kinds/admissionregistration/mutating-policy-schema.ts';
import type { ValidatingPolicySpec } from '../../kinds/admissionregistration/validating-policy-schema.ts';
import { CompiledByWritten, type CompiledOnce } from '../matching/compiled-once.ts';

/** The expressions of a policy, compiled. */
interface Evaluable {
  /** Starts an evaluation with a budget of its own; variables are evaluated anew. */
  readonly begin: (input: ExpressionInput, clock: Clock) => ExpressionEvaluation;
}

export type CompiledPolicy<T> = Evaluable & T;

/** Of a ValidatingAdmissionPolicy. */
export interface CompiledValidations {
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly CompiledAnnotation[];
}

interface CompiledAnnotation {
  readonly key: string;
  readonly value: CompiledExpression;
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

/** The expressions of a policy, compiled when it is first evaluated. */
export type PolicyExpressions<T> = CompiledOnce<CompiledPolicy<T>>;

const validating = new CompiledByWritten<ValidatingPolicySpec, CompiledPolicy<CompiledValidations>>();
const mutating = new CompiledByWritten<MutatingPolicySpec, CompiledPolicy<CompiledMutations>>();

export const validatingExpressions = (spec: ValidatingPolicySpec): PolicyExpressions<CompiledValidations> =>
  validating.of(spec, (clock) => compile(spec, validationsOf, clock));

export const mutatingExpressions = (spec: MutatingPolicySpec): PolicyExpressions<CompiledMutations> =>
  mutating.of(spec, (clock) => compile(spec, mutationsOf, clock));

/** `compileOwn` compiles what the variables are for. */
async function compile<S extends PolicySpec, T extends object>(
  spec: S,
  compileOwn: (spec: S, compiler: ExpressionCompiler) => Steps<T>,
  clock: Clock,
): Promise<CompiledPolicy<T>> {
  const { variables = [], paramKind } = spec;
  const { ExpressionCompiler } = await import('../../kinds/admissionregistration/expressions.ts');
  const { ExpressionEvaluation } = await import('../../kinds/admissionregistration/evaluate-expressions.ts');
  const compiler = new ExpressionCompiler({ hasParams: paramKind !== undefined, hasVariables: true });
  function* steps(): Steps<T> {
    for (const { name = '', expression = '' } of variables) {
      yield;
      yield* compiler.addVariable(name, expression);
    }
    return yield* compileOwn(spec, compiler);
  }
  const own = await inSlices(steps(), clock);
  return {
    begin: (input, clock) =>
      new ExpressionEvaluation(input, {
        variables: compiler.variables,
        budget: new CelBudget(limits.celBudget),
        clock,
      }),
    ...own,
  };
}

function* validationsOf(
  { validations: written = [], auditAnnotations: annotations = [] }: ValidatingPolicySpec,
  compiler: ExpressionCompiler,
): Steps<CompiledValidations> {
  const validations: CompiledValidation[] = [];
  for (const { expression = '', message = '', messageExpression = '', reason = '' } of written) {
    yield;
    validations.push({
      expression: yield* compiler.compile(expression, 'condition'),
      messageExpression: messageExpression === '' ? undefined : yield* compiler.compile(messageExpression, 'message'),
      ...{ message, reason },
    });
  }
  const auditAnnotations: CompiledAnnotation[] = [];
  for (const { key = '', valueExpression = '' } of annotations) {
    yield;
    auditAnnotations.push({ key, value: yield* compiler.compile(valueExpression, 'auditAnnotation') });
  }
  return { validations, auditAnnotations };
}

function* mutationsOf(
  { mutations: written = [] }: MutatingPolicySpec,
  compiler: ExpressionCompiler,
): Steps<CompiledMutations> {
  const mutations: CompiledMutation[] = [];
  for (const { patchType, applyConfiguration, jsonPatch } of written) {
    yield;
    const type = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
    const { expression = '' } = (type === 'jsonPatch' ? jsonPatch : applyConfiguration) ?? {};
    mutations.push({ type, expression: yield* compiler.compile(expression, type) });
  }
  return { mutations };
}
