import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';

/**
 * Rules that have been broken down, as sorted lines in kube-apiserver's format, with the verbs of each resource or named object
 * joined.
 */
export function describeRules(rules: readonly PolicyRule[]): readonly string[] {
  return [...new Set(joinVerbs(rules).map(describeRule))].sort();
}

function joinVerbs(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const joined = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    if (apiGroups.length !== 1 || resources.length !== 1 || resourceNames.length > 1 || nonResourceURLs.length > 0) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([apiGroups, resources, resourceNames]);
    const same = joined.get(key);
    if (same) same.verbs.push(...rule.verbs);
    else joined.set(key, { ...rule, verbs: [...rule.verbs] });
  }
  return [...others, ...joined.values()];
}

/** `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}` */
function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  const texts = parts.flatMap(([name, values = []]) => (values.length > 0 ? [`${name}:${quoteAll(values)}`] : []));
  return `{${texts.join(', ')}}`;
}

/** `["a" "b"]` */
export const quoteAll = (values: readonly string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
