import { ConfigurationError, readConfiguration, requireNoErrors } from '../codec/configuration-document.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { type FieldError, invalid, notSupported, required } from '../meta/field-error.ts';
import { isDnsSubdomain } from '../meta/formats.ts';
import { anyObject, bool, type Infer, list, opt, ptr, string, struct } from '../schema/schema.ts';
import { type AuditLevel, type AuditStage, auditLevels, auditStages, type Policy, type PolicyRule } from './policy.ts';

const texts = () => list(string());

const groupResources = struct('api.audit.v1.GroupResources', 'Resources of one API group.', {
  group: opt(1, string(), 'The API group; empty is the core group.'),
  resources: opt(2, texts(), 'Resources, with subresources as in `pods/log`; empty is all of the group.'),
  resourceNames: opt(3, texts(), 'Names of objects; empty is every one.'),
});

const policyRule = struct('api.audit.v1.PolicyRule', 'What is recorded of the requests that match.', {
  level: opt(1, string(), 'How much is recorded.'),
  users: opt(2, texts(), 'Names of users.'),
  userGroups: opt(3, texts(), 'Groups of users.'),
  verbs: opt(4, texts(), 'Verbs.'),
  resources: opt(5, list(groupResources), 'Resources.'),
  namespaces: opt(6, texts(), 'Namespaces; an empty one is what lies outside of them.'),
  nonResourceURLs: opt(7, texts(), 'Paths.'),
  omitStages: opt(8, texts(), 'Stages without events.'),
  omitManagedFields: ptr(9, bool(), 'Leaves managed fields out of objects.'),
});

const policySchema = struct('api.audit.v1.Policy', 'What is recorded of which requests.', {
  metadata: opt(1, anyObject(), 'Metadata; means nothing here.'),
  rules: opt(2, list(policyRule), 'Rules: the first that matches counts.'),
  omitStages: opt(3, texts(), 'Stages without events, whatever the rule.'),
  omitManagedFields: opt(4, bool(), 'Leaves managed fields out of objects, unless the rule says otherwise.'),
});

/**
 * Reads the file of `--audit-policy-file`: a Policy in YAML or JSON. Unlike kube-apiserver it rejects unknown fields: a
 * misspelt condition would widen a rule. Throws a ConfigurationError that names every invalid field.
 */
export function readPolicy(content: Uint8Array, dialect: Dialect): Policy {
  const document = readConfiguration(content, {
    kind: 'Policy',
    apiVersions: [`${dialect.group('audit')}/v1`],
    schema: policySchema,
  });
  const { rules = [], omitStages = [], omitManagedFields = false } = document;
  requireNoErrors([
    ...stageErrors('omitStages', omitStages),
    ...rules.flatMap((rule, index) => ruleErrors(`rules[${index}]`, rule)),
  ]);
  if (rules.length === 0) throw new ConfigurationError(['rules: Required value: loaded illegal policy with 0 rules']);
  return { rules: rules.map(ruleOf), omitStages: omitStages as readonly AuditStage[], omitManagedFields };
}

type RuleFields = Infer<typeof policyRule>;

/** Of a rule without errors. */
const ruleOf = (fields: RuleFields): PolicyRule => ({
  level: fields.level as AuditLevel,
  users: fields.users ?? [],
  userGroups: fields.userGroups ?? [],
  verbs: fields.verbs ?? [],
  resources: (fields.resources ?? []).map(({ group = '', resources = [], resourceNames = [] }) => ({
    ...{ group, resources, resourceNames },
  })),
  namespaces: fields.namespaces ?? [],
  nonResourceURLs: fields.nonResourceURLs ?? [],
  omitStages: (fields.omitStages ?? []) as readonly AuditStage[],
  omitManagedFields: fields.omitManagedFields,
});

/** The checks and texts of kube-apiserver; paths also have the index of the resource. */
function ruleErrors(path: string, rule: RuleFields): readonly FieldError[] {
  const { level = '', nonResourceURLs = [], resources = [], namespaces = [], omitStages = [] } = rule;
  const isAboutBoth = nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0);
  const both = 'rules cannot apply to both regular resources and non-resource URLs';
  return [
    ...levelErrors(`${path}.level`, level),
    ...nonResourceURLs.flatMap((url, index) => urlErrors(`${path}.nonResourceURLs[${index}]`, url)),
    ...resources.flatMap((each, index) => resourceErrors(`${path}.resources[${index}]`, each)),
    ...stageErrors(`${path}.omitStages`, omitStages),
    ...(isAboutBoth ? [invalid(`${path}.nonResourceURLs`, nonResourceURLs, both)] : []),
  ];
}

function levelErrors(path: string, level: string): readonly FieldError[] {
  if (level === '') return [required(path)];
  return auditLevels.some((each) => each === level) ? [] : [notSupported(path, level, auditLevels)];
}

function urlErrors(path: string, url: string): readonly FieldError[] {
  if (url === '*') return [];
  const wildcard = url.slice(0, -1).includes('*');
  return [
    ...(url.startsWith('/') ? [] : [invalid(path, url, "non-resource URL rules must begin with a '/' character")]),
    ...(wildcard ? [invalid(path, url, "non-resource URL wildcards '*' must be the final character of the rule")] : []),
  ];
}

function resourceErrors(
  path: string,
  { group = '', resources = [], resourceNames = [] }: Infer<typeof groupResources>,
): readonly FieldError[] {
  const problems = group === '' ? [] : isDnsSubdomain(group);
  const isUnnamed = resourceNames.length > 0 && resources.length === 0;
  const unnamed = 'using resourceNames requires at least one resource';
  return [
    ...(problems.length > 0 ? [invalid(`${path}.group`, group, problems.join(','))] : []),
    ...(isUnnamed ? [invalid(`${path}.resourceNames`, resourceNames, unnamed)] : []),
  ];
}

const stageErrors = (path: string, stages: readonly string[]): readonly FieldError[] =>
  stages.flatMap((stage, index) =>
    auditStages.some((each) => each === stage)
      ? []
      : [invalid(`${path}[${index}]`, stage, `allowed stages are ${auditStages.join(',')}`)],
  );
