import { type ApiObject, byName } from '../../meta/api-object.ts';
import { readLabelSelector, selectsLabels } from '../meta/label-selector.ts';
import { asClusterRole } from './cluster-role.ts';
import type { PolicyRule } from './policy-rule.ts';

/**
 * The rules of a ClusterRole with an aggregationRule (spec section 5.8): the union of the rules of all other ClusterRoles
 * that its selectors match, in order of selector, then name. Undefined if it has no aggregationRule or an invalid one.
 *
 * This is a single step. If aggregating roles select each other, the caller repeats it until nothing changes. That
 * terminates, because each step only adds rules that some role has. For the same reason, roles that select each other
 * never lose a rule that one of them had, as in Kubernetes.
 */
export function aggregate(clusterRole: ApiObject, all: Iterable<ApiObject>): readonly PolicyRule[] | undefined {
  const { aggregationRule } = asClusterRole(clusterRole);
  if (!aggregationRule) return undefined;
  const others = [...all].filter(({ metadata }) => metadata.name !== clusterRole.metadata.name);
  const rules = new Map<string, PolicyRule>();
  for (const labelSelector of aggregationRule.clusterRoleSelectors ?? []) {
    const selector = readLabelSelector(labelSelector);
    if (!selector) return undefined;
    for (const other of others.filter(({ metadata }) => selectsLabels(selector, metadata.labels)).sort(byName)) {
      for (const rule of asClusterRole(other).rules ?? []) setFirst(rules, ruleKey(rule), rule);
    }
  }
  return [...rules.values()];
}

/** True if two lists of rules are equal; absent fields equal empty ones. */
export const sameRules = (one: readonly PolicyRule[], other: readonly PolicyRule[]): boolean =>
  one.length === other.length && one.every((rule, index) => ruleKey(rule) === ruleKey(other[index] ?? { verbs: [] }));

const ruleKey = ({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): string => JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);

function setFirst<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}
