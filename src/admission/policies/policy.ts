import type { MatchResources, ParamKind, ParamRef } from '../../kinds/admissionregistration/policy-schema.ts';
import type {
  ValidatingBindingSpec,
  ValidatingPolicySpec,
} from '../../kinds/admissionregistration/validating-policy-schema.ts';
import { readLabelSelector } from '../../kinds/meta/label-selector.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { MatchConditions } from '../matching/match-conditions.ts';
import type { Ruled } from '../matching/match-index.ts';
import type { Selecting } from '../matching/selects-request.ts';
import { PolicyExpressions } from './policy-expressions.ts';

/** A ValidatingAdmissionPolicy that a binding puts into force. */
export interface Policy extends Ruled, Selecting {
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly paramKind: ParamKind | undefined;
  readonly conditions: MatchConditions | undefined;
  readonly expressions: PolicyExpressions;
  /** In order of their names. */
  readonly bindings: readonly PolicyBinding[];
}

export interface PolicyBinding {
  readonly name: string;
  /** Limits the requests further. Undefined: all of the policy. */
  readonly matches: (Ruled & Selecting) | undefined;
  readonly paramRef: ParamRef | undefined;
  readonly actions: readonly string[];
}

/** The policies that have bindings, in order of their names. */
export function policiesOf(policies: Iterable<ApiObject>, bindings: Iterable<ApiObject>): readonly Policy[] {
  const byPolicy = Map.groupBy(
    [...bindings].sort(byName),
    (each) => (each['spec'] as ValidatingBindingSpec).policyName,
  );
  return [...policies].sort(byName).flatMap((policy) => {
    const bound = byPolicy.get(nameOf(policy)) ?? [];
    return bound.length === 0 ? [] : [policyOf(policy, bound.map(bindingOf))];
  });
}

const nameOf = ({ metadata: { name = '' } }: ApiObject): string => name;

const byName = (one: ApiObject, other: ApiObject): number => {
  const [a, b] = [nameOf(one), nameOf(other)];
  return a < b ? -1 : a > b ? 1 : 0;
};

function policyOf(policy: ApiObject, bindings: readonly PolicyBinding[]): Policy {
  const spec = policy['spec'] as ValidatingPolicySpec;
  const { matchConstraints = {}, matchConditions, failurePolicy, paramKind } = spec;
  return {
    ...matchingOf(matchConstraints),
    name: nameOf(policy),
    failurePolicy: failurePolicy === 'Ignore' ? 'Ignore' : 'Fail',
    paramKind,
    conditions: MatchConditions.of(matchConditions, paramKind !== undefined),
    expressions: new PolicyExpressions(spec),
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
