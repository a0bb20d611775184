import { documentedEnum, type Infer, inline, list, opt, ptr, string, struct } from '../../schema/schema.ts';

const rule = struct('api.admissionregistration.v1.Rule', 'Resources, by group, version and name.', {
  apiGroups: opt(1, list(string()), 'API groups; an empty name is the core group, `*` every group.'),
  apiVersions: opt(2, list(string()), 'Versions of the groups; `*` is every version.'),
  resources: opt(3, list(string()), 'Resources, and subresources as `resource/subresource`, `*/subresource` or `resource/*`; `*` is all resources without subresources, `*/*` all of both.'),
  scope: ptr(4, string(), '`Cluster`, `Namespaced`, or `*` for both.', { default: '*' }),
});

/** Operations on resources, as webhooks and policies name what they judge. */
export const ruleWithOperations = struct('api.admissionregistration.v1.RuleWithOperations', 'Operations on resources.', {
  operations: opt(1, list(documentedEnum('*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE')), '`CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*` for all of them.'),
  ...inline(2, rule),
});

export type RuleWithOperations = Infer<typeof ruleWithOperations>;
