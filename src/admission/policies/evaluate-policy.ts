import type { Clock } from '../../base/time/clock.ts';
import { usableMessage } from '../../cel/usable-message.ts';
import type { ExpressionEvaluation, ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledPolicy, CompiledValidation, CompiledValidations } from './policy-expressions.ts';

/** What a policy says of a request, for one binding and one object of parameters. */
interface Judgement {
  readonly decisions: readonly PolicyDecision[];
  /** Of the audit event; those that failed are decisions. */
  readonly annotations: readonly (readonly [key: string, value: string])[];
}

/** Something that speaks against a request. */
export interface PolicyDecision {
  /** Index of the validation; of what failed besides, that after the last one. */
  readonly index: number;
  /** `failed`: the evaluation; whether that counts is up to the failure policy. `unmet`: the object breaks the rule. */
  readonly type: 'unmet' | 'failed';
  readonly message: string;
  /** '' if the policy gives none. */
  readonly reason: string;
  readonly seconds: number;
}

/** Evaluates validations, and then audit annotations with a budget of their own, as kube-apiserver does. */
export async function evaluatePolicy(
  { begin, validations, auditAnnotations }: CompiledPolicy<CompiledValidations>,
  input: ExpressionInput,
  clock: Clock,
): Promise<Judgement> {
  const decisions: PolicyDecision[] = [];
  const evaluation = begin(input, clock);
  for (const [index, validation] of validations.entries()) {
    const began = clock.monotonic();
    const evaluating = evaluation.evaluate(validation.expression);
    const result = evaluating instanceof Promise ? await evaluating : evaluating;
    if (result.type === 'value' && result.value === true) continue;
    const decided = result.type === 'value' ? await unmet(validation, evaluation) : failed(result.message);
    decisions.push({ ...decided, index, seconds: (clock.monotonic() - began) / 1000 });
    if (result.type === 'outOfBudget') break;
  }
  if (auditAnnotations.length === 0) return { decisions, annotations: [] };
  const annotations: [string, string][] = [];
  const annotating = begin(input, clock);
  for (const { key, value } of auditAnnotations) {
    const began = clock.monotonic();
    const result = await annotating.evaluate(value);
    const seconds = (clock.monotonic() - began) / 1000;
    if (result.type !== 'value') decisions.push({ ...failed(result.message), index: validations.length, seconds });
    else if (typeof result.value === 'string' && result.value.trim() !== '')
      annotations.push([key, result.value.trim()]);
  }
  return { decisions, annotations };
}

type Decided = Pick<PolicyDecision, 'type' | 'message' | 'reason'>;

const failed = (message: string): Decided => ({ type: 'failed', message, reason: '' });

async function unmet(validation: CompiledValidation, evaluation: ExpressionEvaluation): Promise<Decided> {
  const { expression, messageExpression, message, reason } = validation;
  const made = messageExpression && (await evaluation.evaluate(messageExpression));
  const text = made?.type === 'value' ? usableMessage(made.value) : undefined;
  const usual = message.trim() === '' ? `failed expression: ${expression.source.trim()}` : message.trim();
  return { type: 'unmet', message: text ?? usual, reason };
}
