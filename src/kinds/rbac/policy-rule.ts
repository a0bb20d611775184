import { limits } from '../../base/limits.ts';
import { boundedCount, errorsOfEach, type FieldError, invalidTexts, required as requiredError } from '../../meta/field-error.ts';
import { type Infer, list, opt, req, string, struct } from '../../schema/schema.ts';

/** The wildcard for verbs, API groups, resources and non-resource URLs (spec section 5.8). */
export const everything = '*';

export const policyRule = struct('api.rbac.v1.PolicyRule', 'What may be done, to which resources or paths.', {
  verbs: req(1, list(string()), 'What may be done to all that the rule names; `*` is everything.', { presence: 'always' }),
  apiGroups: opt(2, list(string()), 'Groups of the resources; an empty name is the core group, `*` every group.'),
  resources: opt(3, list(string()), 'Resources, and subresources as `resource/subresource` or `*/subresource`; `*` is all of both.'),
  resourceNames: opt(4, list(string()), 'Names of the objects; none means all objects.'),
  nonResourceURLs: opt(5, list(string()), 'Paths outside of resources; a `*` at the end stands for anything. Only in cluster roles that are bound cluster-wide.'),
});

export type PolicyRule = Infer<typeof policyRule>;

/** Validates the rules of a role, given the `old` ones. A `Namespaced` role may not have rules for non-resource URLs. */
export function validateRules(rules: readonly PolicyRule[], scope: 'Namespaced' | 'Cluster', old: readonly PolicyRule[]): FieldError[] {
  const counts = validateCounts(rules, old);
  return counts.length > 0 ? counts : errorsOfEach(rules, (rule, index) => validateRule(rule, scope, `rules[${index}]`));
}

/** Bounds the number of rules and of their terms, because the RBAC index holds all of them. */
function validateCounts(rules: readonly PolicyRule[], old: readonly PolicyRule[]): FieldError[] {
  const [terms, before] = [termsOf(rules), termsOf(old)];
  const errors = boundedCount('rules', rules.length, limits.roleRulesMax, old.length);
  if (terms <= Math.max(limits.roleTermsMax, before)) return errors;
  const detail = `must have at most ${limits.roleTermsMax} verbs, groups, resources, names and paths in all`;
  return [...errors, { type: 'FieldValueTooMany', field: 'rules', value: terms, detail }];
}

function termsOf(rules: readonly PolicyRule[]): number {
  let terms = 0;
  for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
    terms += verbs.length + apiGroups.length + resources.length + resourceNames.length + nonResourceURLs.length;
  }
  return terms;
}

function validateRule(rule: PolicyRule, scope: 'Namespaced' | 'Cluster', path: string): FieldError[] {
  const { verbs, apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if (verbs.length === 0) errors.push(requiredError(`${path}.verbs`, 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) return [...errors, ...validatePathRule(rule, scope, `${path}.nonResourceURLs`)];
  if (apiGroups.length === 0) {
    errors.push(requiredError(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(requiredError(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}

function validatePathRule(rule: PolicyRule, scope: 'Namespaced' | 'Cluster', path: string): FieldError[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if (scope === 'Namespaced') {
    errors.push(invalidTexts(path, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
  }
  if (apiGroups.length + resources.length + resourceNames.length > 0) {
    const problem = 'rules cannot apply to both regular resources and non-resource URLs';
    errors.push(invalidTexts(path, nonResourceURLs, problem));
  }
  return errors;
}
