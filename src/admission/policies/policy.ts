import type { MutatingPolicySpec } from '../../kinds/admissionregistration/mutating-policy-schema.ts';
import type { MatchResources, ParamKind, ParamRef } from '../../kinds/admissionregistration/policy-schema.ts';
import type {
  ValidatingBindingSpec,
  ValidatingPolicySpec,
} from '../../kinds/admissionregistration/validating-policy-schema.ts';
import { readLabelSelector } from '../../kinds/meta/label-selector.ts';
import { type ApiObject, byName, nameOf } from '../../meta/api-object.ts';
import type { Mutator } from '../chain.ts';
import { MatchConditions } from '../matching/match-conditions.ts';
import type { Ruled } from '../matching/match-index.ts';
import type { Selecting } from '../matching/selects-request.ts';
import {
  type CompiledMutations,
  type CompiledValidations,
  mutatingExpressions,
  type PolicyExpressions,
  validatingExpressions,
} from './policy-expressions.ts';

/** A policy that a binding puts into force. */
export interface Policy extends Ruled, Selecting {
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly paramKind: ParamKind | undefined;
  readonly conditions: MatchConditions | undefined;
  /** In order of their names. */
  readonly bindings: readonly PolicyBinding[];
}

/** A ValidatingAdmissionPolicy. */
export interface ValidatingPolicy extends Policy {
  readonly expressions: PolicyExpressions<CompiledValidations>;
}

/** A MutatingAdmissionPolicy. */
export interface MutatingPolicy extends Policy, Pick<Mutator, 'reinvocationPolicy'> {
  readonly expressions: PolicyExpressions<CompiledMutations>;
}

export interface PolicyBinding {
  readonly name: string;
  /** Limits the requests further. Undefined: all of the policy. */
  readonly matches: (Ruled & Selecting) | undefined;
  readonly paramRef: ParamRef | undefined;
  /** What a validating policy does about a request that it speaks against. */
  readonly actions: readonly string[];
}

interface Written {
  readonly policies: Iterable<ApiObject>;
  readonly bindings: Iterable<ApiObject>;
}

/** The ValidatingAdmissionPolicies that have bindings, in order of their names. */
export const validatingPoliciesOf = (written: Written): readonly ValidatingPolicy[] =>
  boundPolicies(written, (policy, common) => ({
    ...common,
    expressions: validatingExpressions(policy['spec'] as ValidatingPolicySpec),
  }));

/** The MutatingAdmissionPolicies that have bindings, in order of their names. */
export const mutatingPoliciesOf = (written: Written): readonly MutatingPolicy[] =>
  boundPolicies(written, (policy, common) => {
    const spec = policy['spec'] as MutatingPolicySpec;
    const reinvocationPolicy = spec.reinvocationPolicy === 'IfNeeded' ? 'ifNeeded' : 'never';
    return { ...common, reinvocationPolicy, expressions: mutatingExpressions(spec) };
  });

function boundPolicies<P extends Policy>(
  { policies, bindings }: Written,
  make: (policy: ApiObject, common: Policy) => P,
): readonly P[] {
  const byPolicy = Map.groupBy(
    [...bindings].sort(byName),
    (each) => (each['spec'] as ValidatingBindingSpec).policyName,
  );
  return [...policies].sort(byName).flatMap((policy) => {
    const bound = byPolicy.get(nameOf(policy)) ?? [];
    return bound.length === 0 ? [] : [make(policy, policyOf(policy, bound.map(bindingOf)))];
  });
}

/** What the specs of both kinds have. */
type PolicySpec = Pick<ValidatingPolicySpec, 'matchConstraints' | 'matchConditions' | 'failurePolicy' | 'paramKind'>;

function policyOf(policy: ApiObject, bindings: readonly PolicyBinding[]): Policy {
  const { matchConstraints = {}, matchConditions, failurePolicy, paramKind } = policy['spec'] as PolicySpec;
  return {
    ...matchingOf(matchConstraints),
    name: nameOf(policy),
    failurePolicy: failurePolicy === 'Ignore' ? 'Ignore' : 'Fail',
    paramKind,
    conditions: MatchConditions.of(matchConditions, paramKind !== undefined),
    bindings,
  };
}

function bindingOf(binding: ApiObject): PolicyBinding {
  const { paramRef, matchResources, validationActions = [] } = binding['spec'] as ValidatingBindingSpec;
  const matches = matchResources && matchingOf(matchResources);
  return { name: nameOf(binding), matches, paramRef, actions: validationActions };
}

/** Without rules, all requests. */
const matchingOf = (resources: MatchResources): Ruled & Selecting => ({
  rules: (resources.resourceRules ?? []).length === 0 ? [everything] : (resources.resourceRules ?? []),
  exceptions: resources.excludeResourceRules ?? [],
  matchPolicy: resources.matchPolicy === 'Exact' ? 'Exact' : 'Equivalent',
  namespaceSelector: readLabelSelector(resources.namespaceSelector ?? {}) ?? [],
  objectSelector: readLabelSelector(resources.objectSelector ?? {}) ?? [],
});

const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };
