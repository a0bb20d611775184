import type { ApiObject } from '../../meta/api-object.ts';
import { matches, type Requirement, type Selector } from '../../meta/selectors.ts';
import { readLabelRequirement } from '../meta/label-selector.ts';
import { type AggregationRule, asClusterRole } from './cluster-role.ts';
import type { PolicyRule } from './policy-rule.ts';

type LabelSelector = NonNullable<AggregationRule['clusterRoleSelectors']>[number];

/**
 * The rules that a cluster role with an aggregationRule has to have (spec section 5.8): those of all cluster roles that one
 * of its selectors selects, each rule once, in the order of selectors and then names. Itself it never selects. Undefined
 * where it has no aggregationRule, or one that can't be read.
 *
 * This is one step: where roles that aggregate select each other, it is repeated until nothing changes. It comes to an
 * end, since each step only adds rules that some role has; for the same reason, roles that select each other never lose
 * a rule that one of them got, as on published servers.
 */
export function aggregate(clusterRole: ApiObject, all: Iterable<ApiObject>): readonly PolicyRule[] | undefined {
  const { aggregationRule } = asClusterRole(clusterRole);
  if (!aggregationRule) return undefined;
  const others = [...all].filter(({ metadata }) => metadata.name !== clusterRole.metadata.name);
  const rules = new Map<string, PolicyRule>();
  for (const labelSelector of aggregationRule.clusterRoleSelectors ?? []) {
    const selector = readSelector(labelSelector);
    if (!selector) return undefined;
    for (const other of others.filter((each) => selects(selector, each)).sort(byName)) {
      for (const rule of asClusterRole(other).rules ?? []) setFirst(rules, ruleKey(rule), rule);
    }
  }
  return [...rules.values()];
}

/** True where two lists of rules are the same; whether a field is absent or empty makes no difference. */
export const sameRules = (one: readonly PolicyRule[], other: readonly PolicyRule[]): boolean =>
  one.length === other.length && one.every((rule, index) => ruleKey(rule) === ruleKey(other[index] ?? { verbs: [] }));

const ruleKey = ({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): string => JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);

function byName(one: ApiObject, other: ApiObject): number {
  const [a = '', b = ''] = [one.metadata.name, other.metadata.name];
  return a < b ? -1 : a > b ? 1 : 0;
}

function setFirst<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}

function selects(selector: Selector, { metadata: { labels = {} } }: ApiObject): boolean {
  return matches(selector, (key) => (Object.hasOwn(labels, key) ? labels[key] : undefined));
}

/** Undefined where an operator is not one of labels, which validation keeps out. */
function readSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Selector | undefined {
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    operator: 'in',
    key,
    values: new Set([value]),
  }));
  for (const expression of matchExpressions) {
    const requirement = readLabelRequirement(expression);
    if (!requirement) return undefined;
    requirements.push(requirement);
  }
  return requirements;
}
