import { errorsOfEach, type FieldError, invalid, required as requiredError } from '../../meta/field-error.ts';
import { type Infer, list, optional, required, string, struct } from '../../schema/schema.ts';

/** `*` as a verb, group, resource or path stands for all of them (spec section 5.8). */
export const everything = '*';

export const policyRule = struct('api.rbac.v1.PolicyRule', 'What may be done, to which resources or paths.', {
  verbs: required(1, list(string()), 'What may be done to all that the rule names; `*` is everything.', {
    presence: 'always',
  }),
  apiGroups: optional(2, list(string()), 'Groups of the resources; an empty name is the core group, `*` every group.'),
  resources: optional(
    3,
    list(string()),
    'Resources, and subresources as `resource/subresource` or `*/subresource`; `*` is all of both.',
  ),
  resourceNames: optional(4, list(string()), 'Names of the objects; none means all objects.'),
  nonResourceURLs: optional(
    5,
    list(string()),
    'Paths outside of resources; a `*` at the end stands for anything. Only in cluster roles that are bound cluster-wide.',
  ),
});

export type PolicyRule = Infer<typeof policyRule>;

/** The rules of a role. `Namespaced` roles say nothing about paths, which lie in no namespace. */
export const validateRules = (rules: readonly PolicyRule[], scope: 'Namespaced' | 'Cluster'): FieldError[] =>
  errorsOfEach(rules, (rule, index) => validateRule(rule, scope, `rules[${index}]`));

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
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs } = rule;
  const errors: FieldError[] = [];
  if (scope === 'Namespaced') {
    errors.push(invalid(path, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
  }
  if (apiGroups.length + resources.length + resourceNames.length > 0) {
    const problem = 'rules cannot apply to both regular resources and non-resource URLs';
    errors.push(invalid(path, nonResourceURLs, problem));
  }
  return errors;
}
