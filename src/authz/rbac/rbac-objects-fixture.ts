import type { Subject } from '../../kinds/rbac/binding.ts';
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes } from '../authorizer.ts';
import { RbacIndex, type RbacKind } from './rbac-index.ts';

/** Builders for roles, bindings and requests in tests. */

export const rbacGroup = 'rbac.authorization.orch.io';
const apiVersion = `${rbacGroup}/v1`;

const metadata = (namespace: string, name: string) => ({ name, ...(namespace !== '' && { namespace }) });

/** A Role, or a ClusterRole if `namespace` is empty. */
export const makeRole = (namespace: string, name: string, ...rules: readonly PolicyRule[]): ApiObject => ({
  apiVersion,
  kind: namespace === '' ? 'ClusterRole' : 'Role',
  metadata: metadata(namespace, name),
  rules: [...rules],
});

/** A RoleBinding, or a ClusterRoleBinding if `namespace` is empty. `role` is `Role/name` or `ClusterRole/name`. */
export function makeBinding(namespace: string, name: string, role: string, ...subjects: readonly Subject[]): ApiObject {
  const [kind = '', roleName = ''] = role.split('/');
  return {
    apiVersion,
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: metadata(namespace, name),
    roleRef: { apiGroup: rbacGroup, kind, name: roleName },
    subjects: [...subjects],
  };
}

export function indexOf(objects: Iterable<ApiObject>): RbacIndex {
  const index = new RbacIndex(rbacGroup);
  for (const object of objects) index.put(object.kind as RbacKind, object);
  return index;
}

export const makeUser = (username: string, ...groups: readonly string[]): UserInfo => ({
  username,
  uid: '',
  groups,
  extra: {},
});

/** Parses `get pods/log@group namespace name`, with `-` for an empty value, or `get /path`. */
export function readQuestion(text: string): Attributes {
  const [verb = '', what = '', namespace = '-', name = '-'] = text.trim().split(/\s+/);
  if (what.startsWith('/')) return { type: 'path', verb, path: what };
  const [, resource = '', subresource = '', group = ''] = /^([^/@]*)(?:\/([^@]*))?(?:@(.*))?$/.exec(what) ?? [];
  const said = (word: string): string => (word === '-' ? '' : word);
  return {
    type: 'resource',
    verb,
    group,
    version: 'v1',
    resource,
    subresource,
    namespace: said(namespace),
    name: said(name),
  };
}
