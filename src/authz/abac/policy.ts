import { groupAuthenticated, type UserInfo } from '../../request/user-info.ts';
import type { Attributes, ResourceAttributes } from '../authorizer.ts';

/** Wildcard in policies: matches all values. */
export const everything = '*';

/**
 * One line of a policy file. All set fields must match. An empty `resource` matches no resource and an empty `nonResourcePath`
 * no path; an empty `apiGroup` is the core group, an empty `namespace` matches cluster-scoped requests.
 */
export interface Policy {
  /** A user name; empty: any. */
  readonly user: string;
  /** A group; empty: any. A policy with neither user nor group matches nobody. */
  readonly group: string;
  /** Restricts the policy to `get`, `list` and `watch`. */
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly namespace: string;
  /** Resource name; includes its subresources. */
  readonly resource: string;
  /** A path. A trailing `*` makes it a prefix; `*` alone matches every path. */
  readonly nonResourcePath: string;
}

/** True if the policy allows the user this request. */
export const policyAllows = (policy: Policy, attributes: Attributes, user: UserInfo): boolean =>
  matchesSubject(policy, user) &&
  (!policy.readonly || reads(attributes.verb)) &&
  (attributes.type === 'path' ? pathMatches(policy, attributes.path) : resourceMatches(policy, attributes));

/**
 * True if the policy applies to the user. `*` as user or group matches all authenticated users; if both user and group are set,
 * both must match.
 */
export function matchesSubject({ user, group }: Policy, { username, groups }: UserInfo): boolean {
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
