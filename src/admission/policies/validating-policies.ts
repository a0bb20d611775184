import type { Clock } from '../../base/time/clock.ts';
import { stringifyJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ParamKind, ParamRef } from '../../kinds/admissionregistration/policy-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError, type StatusReason } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionConfigurations } from '../admission-configurations.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import type { JudgedObjects } from '../matching/match-conditions.ts';
import { type Matched, matchedVersion } from '../matching/match-index.ts';
import { isNamespace, operationName } from '../matching/match-rules.ts';
import { type AuthorizeInExpression, RequestDecisions, requestResource } from '../matching/request-decisions.ts';
import { type NamespaceLabels, selectsRequest } from '../matching/selects-request.ts';
import { admissionRequest } from '../webhooks/admission-review.ts';
import type { ConditionsOutcome } from '../webhooks/webhook-outcome.ts';
import { evaluatePolicy, type PolicyDecision } from './evaluate-policy.ts';
import type { Policy, PolicyBinding } from './policy.ts';
import { errorTypeOf, type PolicyOutcome } from './policy-outcome.ts';

/** Objects that parameterize a policy, or why they cannot be found. */
export type FoundParams =
  | { readonly type: 'objects'; readonly objects: readonly ApiObject[] }
  | { readonly type: 'failed'; readonly why: string; readonly of: 'policy' | 'binding' };

/** What the plugin of policies needs of the server. */
export interface PolicyParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly configurations: Pick<AdmissionConfigurations, 'policies'>;
  /** Resolves when `configurations` include all writes acknowledged before the call, on whichever server. */
  readonly upToDate: (signal: AbortSignal) => Promise<void> | undefined;
  readonly namespaceLabels: NamespaceLabels;
  /** The Namespace of this name. */
  readonly namespace: (name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
  /** Params of a binding; `namespace` is that of the request, '' if it has none. */
  readonly params: (kind: ParamKind, ref: ParamRef, namespace: string) => Promise<FoundParams>;
  readonly authorize: AuthorizeInExpression;
  readonly policyObserved: (outcome: PolicyOutcome) => void;
  readonly conditionsObserved: (outcome: ConditionsOutcome) => void;
}

/**
 * ValidatingAdmissionPolicies (KEP-3488): expressions that judge requests. Policies and other configurations of admission are
 * not judged, nor reviews of tokens and access, which would otherwise judge themselves.
 */
export const validatingPolicies = (parts: PolicyParts): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  sideEffects: 'none',
  concerns: (attributes) => !isExcluded(attributes, parts.dialect),
  validate(attributes) {
    const waiting = parts.upToDate(attributes.signal);
    return waiting ? waiting.then(() => validate(attributes, parts)) : validate(attributes, parts);
  },
});

const configurationResources: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

function isExcluded({ info: { group, resource } }: AdmissionAttributes, dialect: Dialect): boolean {
  if (group === dialect.group('admissionregistration')) return configurationResources.has(resource);
  return group === dialect.group('authentication') || group === dialect.group('authorization');
}

function validate(attributes: AdmissionAttributes, parts: PolicyParts): Promise<void> | undefined {
  const matched = parts.configurations.policies.find(attributes);
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
interface Judged {
  readonly attributes: AdmissionAttributes;
  readonly parts: PolicyParts;
  readonly decisions: RequestDecisions;
  readonly refusals: Refusal[];
}

async function judge(
  matched: readonly Matched<Policy>[],
  attributes: AdmissionAttributes,
  parts: PolicyParts,
): Promise<void> {
  const refusals: Refusal[] = [];
  const judged: Judged = { attributes, parts, decisions: new RequestDecisions(attributes, parts.authorize), refusals };
  for (const each of matched) {
    const selected = selectsRequest(each.item, attributes, parts.namespaceLabels);
    if (!(selected instanceof Promise ? await selected : selected)) continue;
    await judgeBy(each, judged);
  }
  const [first] = refusals;
  if (first) throw refusalError(attributes, first);
}

async function judgeBy(matched: Matched<Policy>, judged: Judged): Promise<void> {
  const { item: policy } = matched;
  const annotations = new Map<string, string[]>();
  for (const binding of policy.bindings) {
    const { matches } = binding;
    if (matches && !matchedVersion(matches, judged.attributes)) continue;
    if (matches && !(await selectsRequest(matches, judged.attributes, judged.parts.namespaceLabels))) continue;
    const params = await paramsFor(policy, binding, judged);
    for (const each of params) {
      for (const [key, value] of await judgeWith(matched, binding, each, judged)) {
        const values = annotations.get(key) ?? [];
        if (!values.includes(value)) annotations.set(key, [...values, value]);
      }
    }
  }
  for (const [key, values] of annotations) judged.attributes.annotate(`${policy.name}/${key}`, values.join(', '));
}

/** The params with which to evaluate, each once; undefined stands for none. */
async function paramsFor(
  { name, paramKind, failurePolicy }: Policy,
  { name: binding, paramRef }: PolicyBinding,
  { attributes, parts, refusals }: Judged,
): Promise<readonly (ApiObject | undefined)[]> {
  if (!paramKind || !paramRef) return [undefined];
  const found = await parts.params(paramKind, paramRef, isNamespace(attributes) ? '' : attributes.info.namespace);
  if (found.type === 'objects' && (found.objects.length > 0 || paramRef.parameterNotFoundAction !== 'Deny')) {
    return found.objects;
  }
  const missing = 'no params found for policy binding with `Deny` parameterNotFoundAction';
  const { of, why } = found.type === 'failed' ? found : ({ of: 'binding', why: missing } as const);
  const ofBinding = of === 'binding' ? binding : undefined;
  if (failurePolicy === 'Fail') {
    refusals.push({ policy: name, binding: ofBinding, message: `failed to configure ${of}: ${why}`, reason: '' });
  }
  return [];
}

/** Returns the annotations of the audit event. */
async function judgeWith(
  { item: policy, as }: Matched<Policy>,
  binding: PolicyBinding,
  params: ApiObject | undefined,
  judged: Judged,
): Promise<readonly (readonly [key: string, value: string])[]> {
  const { attributes, parts, decisions } = judged;
  const { clock } = parts;
  const { object, old } = attributes;
  const shown = {
    request: admissionRequest(attributes, as),
    object: object && (await attributes.inVersion(object, as)),
    oldObject: old && (await attributes.inVersion(old, as)),
    params,
  };
  const excluded = await conditionsOf(policy, shown, judged);
  if (excluded === true) return [];
  if (excluded) {
    for (const message of excluded)
      decide(policy, binding, { index: 0, type: 'failed', message, reason: '', seconds: 0 }, judged);
    return [];
  }
  const { namespace } = attributes.info;
  const namespaceObject = namespace === '' || isNamespace(attributes) ? undefined : await parts.namespace(namespace);
  const input = { ...shown, namespaceObject, decisions, requestResource: requestResource(attributes) };
  const compiled = policy.expressions.compiled();
  const judgement = await evaluatePolicy(compiled instanceof Promise ? await compiled : compiled, input, clock);
  for (const decision of judgement.decisions) decide(policy, binding, decision, judged);
  return judgement.annotations;
}

/** True if the conditions exclude the request; what failed, if none does and some cannot be evaluated. */
async function conditionsOf(
  { name, conditions }: Policy,
  shown: JudgedObjects,
  { attributes, decisions, parts }: Judged,
): Promise<true | readonly string[] | undefined> {
  if (!conditions) return undefined;
  const { clock, conditionsObserved } = parts;
  const began = clock.monotonic();
  const match = await conditions.evaluate({ ...shown, attributes, decisions, clock });
  conditionsObserved({
    ...{ name, kind: 'policy', type: 'validate', operation: operationName(attributes) },
    seconds: (clock.monotonic() - began) / 1000,
    errors: match.type === 'failed' ? match.errors.length : 0,
    excluded: match.type === 'excluded',
  });
  if (match.type === 'failed')
    return [match.errors.length === 1 ? `${match.errors[0]}` : `[${match.errors.join(', ')}]`];
  return match.type === 'excluded' ? true : undefined;
}

const actions: Readonly<Record<string, PolicyOutcome['action']>> = { Deny: 'deny', Audit: 'audit', Warn: 'warn' };

/** Does what the binding says is to be done. */
function decide(policy: Policy, binding: PolicyBinding, decision: PolicyDecision, judged: Judged): void {
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
  policy: Policy,
  binding: PolicyBinding,
  { index, message }: PolicyDecision,
  { attributes, parts }: Judged,
): void {
  const key = `validation.policy.admission.${parts.dialect.domain}/validation_failure`;
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
