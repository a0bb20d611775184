import type { Dialect } from '../../../dialect/dialect.ts';
import type { RoleRef, Subject } from '../../../kinds/rbac/binding.ts';
import type { PolicyRule } from '../../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../../meta/api-object.ts';

/** Notation for the tables of default roles and bindings. Lists are strings of words, sorted in the objects. */

export const read = 'get list watch';
export const write = 'create delete deletecollection patch update';
export const readWrite = `${read} ${write}`;

const words = (text: string): string[] => text.split(' ').sort();

interface RuleOptions {
  /** Full names. Default: the core group. */
  readonly groups?: readonly string[];
  readonly names?: readonly string[];
}

/** A rule for resources. */
export const rule = (
  verbs: string,
  resources: string,
  { groups = [''], names = [] }: RuleOptions = {},
): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: [...groups].sort(),
  resources: words(resources),
  ...(names.length > 0 && { resourceNames: [...names].sort() }),
});

/** A rule for paths. */
export const urls = (verbs: string, paths: string): PolicyRule => ({
  verbs: words(verbs),
  nonResourceURLs: words(paths),
});

/** Permission to record events. */
export const recordEvents = (dialect: Dialect): PolicyRule =>
  rule('create patch update', 'events', { groups: ['', dialect.group('events')] });

/** Annotation that disables reconciliation of a default object if set to `false` (spec section 5.8). */
export const autoupdateAnnotation = ({ domain }: Dialect): string => `rbac.authorization.${domain}/autoupdate`;

/** Label of the cluster roles that are aggregated into `admin`, `edit` or `view`. */
export const aggregateLabel = (dialect: Dialect, to: 'admin' | 'edit' | 'view'): string =>
  `${dialect.group('rbac.authorization')}/aggregate-to-${to}`;

export interface DefaultRole {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Label of the roles that are aggregated into this one. */
  readonly sumOf?: string;
}

export interface DefaultBinding {
  readonly name: string;
  /** Name of the bound role. Default: the name of the binding. */
  readonly role?: string;
  readonly subjects: readonly Subject[];
}

const metadata = (dialect: Dialect, name: string, namespace = '', labels = {}): ApiObject['metadata'] => ({
  name,
  ...(namespace !== '' && { namespace }),
  annotations: { [autoupdateAnnotation(dialect)]: 'true' },
  labels: { [`${dialect.domain}/bootstrapping`]: 'rbac-defaults', ...labels },
});

const apiVersion = (dialect: Dialect): string => `${dialect.group('rbac.authorization')}/v1`;

export const clusterRoleObject = (dialect: Dialect, { name, rules, labels, sumOf }: DefaultRole): ApiObject => ({
  apiVersion: apiVersion(dialect),
  kind: 'ClusterRole',
  metadata: metadata(dialect, name, '', labels),
  rules: [...rules],
  ...(sumOf !== undefined && { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [sumOf]: 'true' } }] } }),
});

export const roleObject = (dialect: Dialect, namespace: string, { name, rules }: DefaultRole): ApiObject => ({
  apiVersion: apiVersion(dialect),
  kind: 'Role',
  metadata: metadata(dialect, name, namespace),
  rules: [...rules],
});

export const clusterBindingObject = (dialect: Dialect, { name, role = name, subjects }: DefaultBinding): ApiObject => ({
  apiVersion: apiVersion(dialect),
  kind: 'ClusterRoleBinding',
  metadata: metadata(dialect, name),
  ...bound(dialect, 'ClusterRole', role, subjects),
});

export const bindingObject = (
  dialect: Dialect,
  namespace: string,
  { name, role = name, subjects }: DefaultBinding,
): ApiObject => ({
  apiVersion: apiVersion(dialect),
  kind: 'RoleBinding',
  metadata: metadata(dialect, name, namespace),
  ...bound(dialect, 'Role', role, subjects),
});

/** Adds the API group to user and group subjects; service accounts have none. */
function bound(
  dialect: Dialect,
  kind: string,
  name: string,
  subjects: readonly Subject[],
): { subjects?: Subject[]; roleRef: RoleRef } {
  const apiGroup = dialect.group('rbac.authorization');
  const withGroups = subjects.map((each) => (each.kind === 'ServiceAccount' ? each : { ...each, apiGroup }));
  return { ...(withGroups.length > 0 && { subjects: withGroups }), roleRef: { apiGroup, kind, name } };
}

export const user = (name: string): Subject => ({ kind: 'User', name });
export const group = (name: string): Subject => ({ kind: 'Group', name });
export const account = (namespace: string, name: string): Subject => ({ kind: 'ServiceAccount', name, namespace });
