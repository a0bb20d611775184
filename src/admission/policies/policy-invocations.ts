import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { ParamKind, ParamRef } from '../../kinds/admissionregistration/policy-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import { type ConditionsOutcome, judgeByConditions, judgedObjects } from '../matching/judge-by-conditions.ts';
import type { JudgedObjects } from '../matching/match-conditions.ts';
import { type Matched, matchedVersion } from '../matching/match-index.ts';
import { isNamespace } from '../matching/match-rules.ts';
import { type AuthorizeInExpression, RequestDecisions, requestResource } from '../matching/request-decisions.ts';
import { type NamespaceLabels, selectsRequest } from '../matching/selects-request.ts';
import type { Policy, PolicyBinding } from './policy.ts';

/** Objects that parameterize a policy, or why they cannot be found. */
export type FoundParams =
  | { readonly type: 'objects'; readonly objects: readonly ApiObject[] }
  | { readonly type: 'failed'; readonly why: string };

/** For whom params are looked up. */
export interface ParamsWanted {
  /** That of the request, '' if it has none. A Namespace is in itself. */
  readonly namespace: string;
  /** The request's. */
  readonly signal: AbortSignal;
}

/** What the plugins of policies need of the server. */
export interface InvocationParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Resolves when the policies include all writes acknowledged before the call, on whichever server. */
  readonly upToDate: (signal: AbortSignal) => Promise<void> | undefined;
  readonly namespaceLabels: NamespaceLabels;
  /** The Namespace of this name. */
  readonly namespace: (name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
  /** What is wrong with a kind of params: undefined if there are such objects. */
  readonly paramKindProblem: (kind: ParamKind) => string | undefined | Promise<string | undefined>;
  /** Params of a binding. Include all writes acknowledged before the request. */
  readonly params: (kind: ParamKind, ref: ParamRef, wanted: ParamsWanted) => Promise<FoundParams>;
  readonly authorize: AuthorizeInExpression;
  readonly conditionsObserved: (outcome: ConditionsOutcome) => void;
}

/** One request before the policies of a plugin. */
export interface PolicyRequest {
  readonly attributes: AdmissionAttributes;
  readonly parts: InvocationParts;
  readonly decisions: RequestDecisions;
}

export const policyRequest = (attributes: AdmissionAttributes, parts: InvocationParts): PolicyRequest => ({
  ...{ attributes, parts },
  decisions: new RequestDecisions(attributes, parts.authorize),
});

const configurationResources: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

/** Policies are not for policies, nor for reviews of tokens and access, which would otherwise judge themselves. */
export function isExcluded({ info: { group, resource } }: AdmissionAttributes, dialect: Dialect): boolean {
  if (group === dialect.group('admissionregistration')) return configurationResources.has(resource);
  return group === dialect.group('authentication') || group === dialect.group('authorization');
}

/** A policy with one of its bindings and one object of params, to be evaluated for a request. */
export interface Invocation<P extends Policy> {
  readonly type: 'invocation';
  readonly policy: P;
  /** The version in which the policy is shown the objects. */
  readonly as: ServedKind;
  readonly binding: PolicyBinding;
  readonly params: ApiObject | undefined;
}

/** Why a policy cannot be evaluated for a request. */
interface Misconfiguration<P extends Policy> {
  readonly type: 'misconfigured';
  readonly policy: P;
  /** Undefined if the reason is in the policy. */
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
}

/** How policies are to be evaluated: in their order, with their bindings and params in order. */
export async function invocationsOf<P extends Policy>(
  matched: readonly Matched<P>[],
  { attributes, parts }: PolicyRequest,
): Promise<readonly (Invocation<P> | Misconfiguration<P>)[]> {
  const found: (Invocation<P> | Misconfiguration<P>)[] = [];
  for (const { item: policy, as } of matched) {
    if (!(await selectsRequest(policy, attributes, parts.namespaceLabels))) continue;
    const problem = policy.paramKind && (await parts.paramKindProblem(policy.paramKind));
    if (problem !== undefined) {
      found.push({
        type: 'misconfigured',
        policy,
        binding: undefined,
        message: `failed to configure policy: ${problem}`,
      });
      continue;
    }
    for (const binding of policy.bindings) {
      const { matches } = binding;
      if (matches && !matchedVersion(matches, attributes)) continue;
      if (matches && !(await selectsRequest(matches, attributes, parts.namespaceLabels))) continue;
      const params = await paramsFor(policy, binding, { attributes, parts });
      if (params.type === 'failed') {
        found.push({ type: 'misconfigured', policy, binding, message: `failed to configure binding: ${params.why}` });
      } else for (const each of params.objects) found.push({ type: 'invocation', policy, as, binding, params: each });
    }
  }
  return found;
}

type InvocationParams =
  | Exclude<FoundParams, { type: 'objects' }>
  | { type: 'objects'; objects: readonly (ApiObject | undefined)[] };

/** The params with which to evaluate, each once; undefined stands for none. */
async function paramsFor(
  { paramKind }: Policy,
  { paramRef }: PolicyBinding,
  { attributes, parts }: Pick<PolicyRequest, 'attributes' | 'parts'>,
): Promise<InvocationParams> {
  if (!paramKind || !paramRef) return { type: 'objects', objects: [undefined] };
  const { name, info, signal } = attributes;
  const found = await parts.params(paramKind, paramRef, {
    namespace: isNamespace(attributes) ? name : info.namespace,
    signal,
  });
  if (found.type === 'failed' || found.objects.length > 0 || paramRef.parameterNotFoundAction !== 'Deny') return found;
  return {
    type: 'failed',
    why: 'no params found for policy binding with `Deny` parameterNotFoundAction',
  };
}

/** The objects of a request as an invocation sees them now. */
export const objectsFor = ({ as, params }: Invocation<Policy>, { attributes }: PolicyRequest): Promise<JudgedObjects> =>
  judgedObjects(attributes, as, params);

/** What expressions see. */
export async function inputFor(objects: JudgedObjects, request: PolicyRequest): Promise<ExpressionInput> {
  const { attributes, decisions } = request;
  const namespaceObject = await namespaceFor(request);
  return { ...objects, namespaceObject, decisions, requestResource: requestResource(attributes) };
}

/** The namespace of the object; that of a namespace is none. */
export function namespaceFor({
  attributes,
  parts,
}: PolicyRequest): ApiObject | undefined | Promise<ApiObject | undefined> {
  const name = namespaceNameOf(attributes);
  return name === '' ? undefined : parts.namespace(name);
}

export const namespaceNameOf = (attributes: AdmissionAttributes): string =>
  isNamespace(attributes) ? '' : attributes.info.namespace;

/** True if the conditions exclude the request; what failed, if none does and some cannot be evaluated. */
export async function conditionsOf(
  { name, conditions }: Policy,
  objects: JudgedObjects,
  { attributes, decisions, parts: { clock, conditionsObserved } }: PolicyRequest,
): Promise<true | string | undefined> {
  if (!conditions) return undefined;
  const whose = { name, conditions, kind: 'policy', type: 'validate' } as const;
  const verdict = await judgeByConditions(whose, objects, { attributes, decisions, clock, conditionsObserved });
  return verdict.type === 'failed' ? verdict.message : verdict.type === 'excluded' || undefined;
}
