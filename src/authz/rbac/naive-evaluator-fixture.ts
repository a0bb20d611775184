import { asBinding, type Subject } from '../../kinds/rbac/binding.ts';
import { asClusterRole } from '../../kinds/rbac/cluster-role.ts';
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes } from '../authorizer.ts';

/**
 * A literal implementation of the RBAC rules in spec section 5.8, one function per sentence, without any index: the reference
 * for tests of the index.
 */
interface NaiveAnswer {
  /** `<kind> <name>` of every binding that allows the request; permissions are additive, so one is enough. */
  readonly allowedBy: readonly string[];
  /** `<kind> <name>` of every missing role that a binding of the user refers to. */
  readonly missing: readonly string[];
}

export function evaluate(objects: readonly ApiObject[], attributes: Attributes, user: UserInfo): NaiveAnswer {
  const allowedBy: string[] = [];
  const missing: string[] = [];
  for (const binding of objects) {
    if (!grantsIn(binding, attributes) || !bindsTo(binding, user)) continue;
    const { kind, name } = asBinding(binding).roleRef;
    const role = objects.find((each) => isRoleOf(each, binding));
    if (!role) missing.push(`${kind} ${name}`);
    else if (asClusterRole(role).rules?.some((rule) => ruleAllows(rule, attributes))) {
      allowedBy.push(`${binding.kind} ${binding.metadata.name}`);
    }
  }
  return { allowedBy, missing };
}

/** A RoleBinding grants in its own namespace, a ClusterRoleBinding everywhere; paths belong to no namespace. */
function grantsIn(binding: ApiObject, attributes: Attributes): boolean {
  if (binding.kind === 'ClusterRoleBinding') return true;
  if (binding.kind !== 'RoleBinding' || attributes.type === 'path') return false;
  return attributes.namespace !== '' && attributes.namespace === binding.metadata.namespace;
}

const bindsTo = (binding: ApiObject, user: UserInfo): boolean =>
  (asBinding(binding).subjects ?? []).some((subject) => isUser(subject, binding, user));

/** A subject is a user, a group, or a service account, whose namespace defaults to that of the binding. */
function isUser({ kind, name, namespace }: Subject, binding: ApiObject, user: UserInfo): boolean {
  if (kind === 'User') return user.username === name;
  if (kind === 'Group') return user.groups.some((group) => group === name);
  const home = namespace || binding.metadata.namespace || '';
  return kind === 'ServiceAccount' && home !== '' && user.username === `system:serviceaccount:${home}:${name}`;
}

/** A Role is looked up in the namespace of the binding, a ClusterRole cluster-wide. */
function isRoleOf(role: ApiObject, binding: ApiObject): boolean {
  const { kind, name } = asBinding(binding).roleRef;
  if (role.kind !== kind || role.metadata.name !== name) return false;
  if (kind === 'ClusterRole') return true;
  return kind === 'Role' && binding.kind === 'RoleBinding' && role.metadata.namespace === binding.metadata.namespace;
}

function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!rule.verbs.some((verb) => verb === '*' || verb === attributes.verb)) return false;
  if (attributes.type === 'path') return (rule.nonResourceURLs ?? []).some((url) => urlMatches(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  return (
    (rule.apiGroups ?? []).some((each) => each === '*' || each === group) &&
    (rule.resources ?? []).some((each) => resourceMatches(each, resource, subresource)) &&
    ((rule.resourceNames ?? []).length === 0 || (rule.resourceNames ?? []).some((each) => each === name))
  );
}

function resourceMatches(written: string, resource: string, subresource: string): boolean {
  if (written === '*') return true;
  if (subresource === '') return written === resource;
  return written === `${resource}/${subresource}` || written === `*/${subresource}`;
}

/** A trailing star matches anything; kube-apiserver treats several as one. */
const urlMatches = (written: string, path: string): boolean =>
  written === path || (written.endsWith('*') && path.startsWith(written.replace(/\*+$/, '')));
