import type { Clock } from '../../base/time/clock.ts';
import { usableMessage } from '../../cel/usable-message.ts';
import type { ExpressionEvaluation, ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledPolicy, CompiledValidation, CompiledValidations } from './policy-expressions.ts';

/** What a policy says of a request, for one binding and one object of parameters. */
interface Judgement {
  readonly decisions: readonly PolicyDecision[];
  /** Of the audit event. */
  readonly annotations: readonly (readonly [key: string, value: string])[];
  /** Annotations that could not be evaluated: they refuse the request, whatever the actions of the binding. */
  readonly annotationFailures: readonly PolicyDecision[];
}

/** Something that speaks against a request. */
export interface PolicyDecision {
  /** Index of the validation; of what failed besides, 0. */
  readonly index: number;
  /** `failed`: the evaluation; whether that counts is up to the failure policy. `unmet`: the object breaks the rule. */
  readonly type: 'unmet' | 'failed';
  readonly message: string;
  /** '' if the policy gives none. */
  readonly reason: string;
  readonly seconds: number;
}

const failed = (message: string, seconds: number, index = 0): PolicyDecision => ({
  ...{ index, type: 'failed', message, reason: '', seconds },
});

/** The one decision of a policy that takes too long: what it said before does not count. */
const tooLong = (message: string, seconds: number): Judgement => ({
  decisions: [failed(message, seconds)],
  annotations: [],
  annotationFailures: [],
});

/** Evaluates validations, then messages, and then audit annotations with a budget of their own, as kube-apiserver does. */
export async function evaluatePolicy(
  { begin, validations, auditAnnotations }: CompiledPolicy<CompiledValidations>,
  input: ExpressionInput,
  clock: Clock,
): Promise<Judgement> {
  const evaluation = begin(input, clock);
  const failures = new Map<number, PolicyDecision>();
  const unmet: Unmet[] = [];
  for (const [index, validation] of validations.entries()) {
    const began = clock.monotonic();
    const evaluating = evaluation.evaluate(validation.expression);
    const result = evaluating instanceof Promise ? await evaluating : evaluating;
    const seconds = (clock.monotonic() - began) / 1000;
    if (result.type === 'outOfBudget') return tooLong(result.message, seconds);
    if (result.type === 'failed') failures.set(index, failed(result.message, seconds, index));
    else if (result.value !== true) unmet.push({ index, validation, seconds });
  }
  const decided = await explain(unmet, evaluation);
  const decisions =
    typeof decided === 'string'
      ? validations.map((_, index) => failures.get(index) ?? failed(`failed messageExpression: ${decided}`, 0, index))
      : [...failures.values(), ...decided].sort((one, other) => one.index - other.index);
  const annotations: [string, string][] = [];
  const annotationFailures: PolicyDecision[] = [];
  if (auditAnnotations.length === 0) return { decisions, annotations, annotationFailures };
  const annotating = begin(input, clock);
  for (const { key, value } of auditAnnotations) {
    const began = clock.monotonic();
    const result = await annotating.evaluate(value);
    const seconds = (clock.monotonic() - began) / 1000;
    if (result.type === 'outOfBudget') return tooLong(result.message, seconds);
    if (result.type === 'failed') annotationFailures.push(failed(result.message, seconds));
    else if (typeof result.value === 'string' && result.value.trim() !== '')
      annotations.push([key, result.value.trim()]);
  }
  return { decisions, annotations, annotationFailures };
}

/** A validation that the object does not meet. */
interface Unmet {
  readonly index: number;
  readonly validation: CompiledValidation;
  readonly seconds: number;
}

/** Says why, in the words of the policy. A text if the budget is used up: then nothing counts but that. */
async function explain(
  unmet: readonly Unmet[],
  evaluation: ExpressionEvaluation,
): Promise<readonly PolicyDecision[] | string> {
  const decisions: PolicyDecision[] = [];
  for (const { index, validation, seconds } of unmet) {
    const { expression, messageExpression, message, reason } = validation;
    const made = messageExpression && (await evaluation.evaluate(messageExpression));
    if (made?.type === 'outOfBudget') return made.message;
    const text = made?.type === 'value' ? usableMessage(made.value) : undefined;
    const usual = message.trim() === '' ? `failed expression: ${expression.source.trim()}` : message.trim();
    decisions.push({ index, type: 'unmet', message: text ?? usual, reason, seconds });
  }
  return decisions;
}
