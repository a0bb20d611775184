import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { limits } from '../../base/limits.ts';
import { stringifyJson } from '../../codec/json.ts';
import { StatusError, type StatusReason } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionConfigurations } from '../admission-configurations.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import type { Matched } from '../matching/match-index.ts';
import { evaluatePolicy, type PolicyDecision } from './evaluate-policy.ts';
import type { PolicyBinding, ValidatingPolicy } from './policy.ts';
import {
  conditionsOf,
  type Invocation,
  type InvocationParts,
  inputFor,
  invocationsOf,
  isExcluded,
  objectsFor,
  type PolicyRequest,
  policyRequest,
} from './policy-invocations.ts';
import { errorTypeOf, type PolicyOutcome } from './policy-outcome.ts';

/** What the plugin needs of the server. */
export interface ValidatingParts extends InvocationParts {
  readonly configurations: Pick<AdmissionConfigurations, 'validatingPolicies'>;
  readonly policyObserved: (outcome: PolicyOutcome) => void;
}

/** ValidatingAdmissionPolicies (KEP-3488): expressions that judge requests. */
export const validatingPolicies = (parts: ValidatingParts): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  sideEffects: 'none',
  concerns: (attributes) => !isExcluded(attributes, parts.dialect),
  validate(attributes) {
    const waiting = parts.upToDate(attributes.signal);
    return waiting ? waiting.then(() => validate(attributes, parts)) : validate(attributes, parts);
  },
});

function validate(attributes: AdmissionAttributes, parts: ValidatingParts): Promise<void> | undefined {
  const matched = parts.configurations.validatingPolicies.find(attributes);
  return matched.length === 0 ? undefined : judge(matched, attributes, parts);
}

/** Something that refuses the request. */
interface Refusal {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

/** One request before its policies. */
interface Judged extends PolicyRequest {
  readonly parts: ValidatingParts;
  readonly refusals: Refusal[];
}

async function judge(
  matched: readonly Matched<ValidatingPolicy>[],
  attributes: AdmissionAttributes,
  parts: ValidatingParts,
): Promise<void> {
  const refusals: Refusal[] = [];
  const judged: Judged = { ...policyRequest(attributes, parts), parts, refusals };
  const annotations = new Map<string, Set<string>>();
  for (const each of await invocationsOf(matched, judged)) {
    const { policy, binding } = each;
    if (each.type === 'misconfigured') {
      if (policy.failurePolicy === 'Ignore') continue;
      refusals.push({ policy: policy.name, binding: binding?.name, message: each.message, reason: '' });
    } else {
      for (const [key, value] of await judgeWith(each, judged)) {
        getOrAdd(annotations, `${policy.name}/${key}`, () => new Set()).add(cut(value));
      }
    }
  }
  for (const [key, values] of annotations) attributes.annotate(key, [...values].join(', '));
  const [first] = refusals;
  if (first) throw refusalError(attributes, first);
}

/** Returns the annotations of the audit event. */
async function judgeWith(
  invocation: Invocation<ValidatingPolicy>,
  judged: Judged,
): Promise<readonly (readonly [key: string, value: string])[]> {
  const { policy, binding } = invocation;
  const { clock } = judged.parts;
  const shown = await objectsFor(invocation, judged);
  const excluded = await conditionsOf(policy, shown, judged);
  if (excluded === true) return [];
  if (excluded !== undefined) {
    decide(policy, binding, { index: 0, type: 'failed', message: excluded, reason: '', seconds: 0 }, judged);
    return [];
  }
  const input = await inputFor(shown, judged);
  const compiled = policy.expressions.get(clock);
  const judgement = await evaluatePolicy(compiled instanceof Promise ? await compiled : compiled, input, clock);
  for (const decision of judgement.decisions) decide(policy, binding, decision, judged);
  for (const failure of judgement.annotationFailures)
    decide(policy, { ...binding, actions: ['Deny'] }, failure, judged);
  return judgement.annotations;
}

/** At most as long as in kube-apiserver, without a part of a character at the end. */
const cut = (value: string): string =>
  value.length * 3 <= limits.policyAnnotationValueMax
    ? value
    : Buffer.from(value)
        .subarray(0, limits.policyAnnotationValueMax)
        .toString()
        .replace(/\uFFFD$/, '');

const actions: Readonly<Record<string, PolicyOutcome['action']>> = { Deny: 'deny', Audit: 'audit', Warn: 'warn' };

/** Does what the binding says is to be done. */
function decide(policy: ValidatingPolicy, binding: PolicyBinding, decision: PolicyDecision, judged: Judged): void {
  const { attributes, parts, refusals } = judged;
  const { type, message, reason, seconds } = decision;
  const error = type === 'failed' ? errorTypeOf(message) : 'no_error';
  const observe = (action: PolicyOutcome['action']): void =>
    parts.policyObserved({ policy: policy.name, binding: binding.name, error, action, seconds });
  if (type === 'failed' && policy.failurePolicy === 'Ignore') {
    observe('allow');
    return;
  }
  for (const action of binding.actions) {
    const done = actions[action];
    if (!done) continue;
    observe(done);
    if (done === 'deny') refusals.push({ policy: policy.name, binding: binding.name, message, reason });
    if (done === 'warn') {
      attributes.warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
      );
    }
    if (done === 'audit') annotateFailure(policy, binding, decision, judged);
  }
}

function annotateFailure(
  policy: ValidatingPolicy,
  binding: PolicyBinding,
  { index, message }: PolicyDecision,
  { attributes, parts }: Judged,
): void {
  const key = `validation.policy.${parts.dialect.group('admission')}/validation_failure`;
  const failure = {
    ...{ message, policy: policy.name, binding: binding.name },
    ...{ expressionIndex: index, validationActions: binding.actions },
  };
  attributes.annotate(key, stringifyJson([failure]));
}

/** Codes of the reasons that policies may give. */
const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

function refusalError(attributes: AdmissionAttributes, { policy, binding, message, reason }: Refusal): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding}'`;
  const why = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const { message: text, details } = admissionForbidden(attributes, why, [{ message: why }]);
  return new StatusError((reason || 'Invalid') as StatusReason, text, {
    code: codes[reason] ?? 422,
    ...(details && { details }),
  });
}
