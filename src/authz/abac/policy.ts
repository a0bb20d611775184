import { groupAuthenticated, type UserInfo } from '../../request/user-info.ts';
import type { Attributes, ResourceAttributes } from '../authorizer.ts';

/** `*` as a value of a policy: all of them. */
export const everything = '*';

/**
 * One line of a policy file: who may do what. All that is set must match. An empty `resource` means no resource at all, an
 * empty `nonResourcePath` no path; an empty `apiGroup` is the core group, an empty `namespace` is outside of namespaces.
 */
export interface Policy {
  /** A user name, '' where any will do. */
  readonly user: string;
  /** A group, '' where any will do. Without a user and a group the policy is nobody's. */
  readonly group: string;
  /** Only `get`, `list` and `watch`. */
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly namespace: string;
  /** The name of the resource; its subresources are meant too. */
  readonly resource: string;
  /** A path; with `*` at its end all that begins so; `*` alone is every path. */
  readonly nonResourcePath: string;
}

/** True where the policy allows the user to do this. */
export const policyAllows = (policy: Policy, attributes: Attributes, user: UserInfo): boolean =>
  concerns(policy, user) &&
  (!policy.readonly || reads(attributes.verb)) &&
  (attributes.type === 'path' ? pathMatches(policy, attributes.path) : resourceMatches(policy, attributes));

/**
 * True where the user is meant. `*` as a user or group is everybody who was authenticated; a policy that names a user and a
 * group means that user as a member of that group.
 */
export function concerns({ user, group }: Policy, { username, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  if ((user === everything || group === everything) && !groups.includes(groupAuthenticated)) return false;
  return (user === '' || user === everything || user === username) && isIn(group, groups);
}

const isIn = (group: string, groups: readonly string[]): boolean =>
  group === '' || group === everything || groups.includes(group);

const reads = (verb: string): boolean => verb === 'get' || verb === 'list' || verb === 'watch';

function pathMatches({ nonResourcePath }: Policy, path: string): boolean {
  if (nonResourcePath === '') return false;
  if (!nonResourcePath.endsWith(everything)) return path === nonResourcePath;
  return path.startsWith(nonResourcePath.replace(/\*+$/, ''));
}

const resourceMatches = (policy: Policy, { namespace, resource, group }: ResourceAttributes): boolean =>
  policy.resource !== '' &&
  (policy.namespace === everything || policy.namespace === namespace) &&
  (policy.resource === everything || policy.resource === resource) &&
  (policy.apiGroup === everything || policy.apiGroup === group);
