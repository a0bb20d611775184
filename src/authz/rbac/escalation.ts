import type { Caller } from '../../base/caller.ts';
import { asBinding, type RoleRef } from '../../kinds/rbac/binding.ts';
import { asClusterRole, type ClusterRole } from '../../kinds/rbac/cluster-role.ts';
import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { changesNoMoreThanOwners } from '../../meta/owner-changes.ts';
import { badRequest, forbiddenObject, notFound, type ResourceName, type StatusError } from '../../meta/status-error.ts';
import { groupMasters, type UserInfo } from '../../request/user-info.ts';
import type { ResourceAttributes } from '../authorizer.ts';
import { covers } from './covers.ts';
import { describeRules, quoteAll } from './describe-rules.ts';
import type { HeldRules } from './rbac-index.ts';

/**
 * Privilege escalation prevention (spec section 5.8): users cannot grant permissions they do not hold. Checked on every write
 * of a role or binding, for all verbs. The checks throw a StatusError if the write is refused.
 */

/** What the checks need from the server. */
export interface EscalationContext {
  /** The rules that a user holds in a namespace; '' is cluster-wide. */
  readonly heldRules: (user: UserInfo, namespace: string) => HeldRules | Promise<HeldRules>;
  /** The rules of the role that a binding in `namespace` refers to; undefined if it does not exist. */
  readonly roleRules: (
    kind: string,
    name: string,
    namespace: string,
  ) => readonly PolicyRule[] | undefined | Promise<readonly PolicyRule[] | undefined>;
  /** Decision of the whole authorizer chain, for the verbs `escalate` and `bind`. */
  readonly isAllowed: (attributes: ResourceAttributes, user: UserInfo, request: Caller) => Promise<boolean> | boolean;
}

/** A write of a role or binding. */
export interface GuardedWrite extends Caller {
  readonly user: UserInfo;
  /** `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`, with the full name of the API group. */
  readonly resource: ResourceName;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** Object name in the request path; empty for a POST. */
  readonly requestName: string;
  /** The object to be stored, with defaults. */
  readonly object: ApiObject;
  /** The stored object; undefined on create. */
  readonly old: ApiObject | undefined;
}

/** Checks the write of a role. Users allowed to `escalate` the role may give it any rules. */
export async function checkRoleEscalation(write: GuardedWrite, context: EscalationContext): Promise<void> {
  const { user, resource, namespace, requestName, object, old } = write;
  if (isMaster(user) || (old && changesNoMoreThanOwners(object, old))) return;
  const { group, resource: roles } = resource;
  const attributes = { verb: 'escalate', group, resource: roles, namespace, name: requestName };
  if (await context.isAllowed(toAttributes(attributes), user, write)) return;
  await requireHeld(write, asClusterRole(object).rules ?? [], context);
  if (
    (aggregates(asClusterRole(object)) || (old && aggregates(asClusterRole(old)))) &&
    !(await holdsEverything(write, context))
  ) {
    throw refused(write, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

/** Checks the write of a binding. Users allowed to `bind` the role may bind it to anyone. */
export async function checkBindingEscalation(write: GuardedWrite, context: EscalationContext): Promise<void> {
  const { user, resource, namespace, object, old } = write;
  if (isMaster(user) || (old && changesNoMoreThanOwners(object, old))) return;
  const { apiGroup = '', kind = '', name = '' } = asBinding(object).roleRef ?? {};
  const roles = rolesOf({ kind });
  if (roles === undefined) throw badRequest(`unsupported role reference kind: ${JSON.stringify(kind)}`);
  const attributes = { verb: 'bind', group: apiGroup, resource: roles, namespace, name };
  if (await context.isAllowed(toAttributes(attributes), user, write)) return;
  const rules = await context.roleRules(kind, name, namespace);
  // As in kube-apiserver, in the name of the binding's resource.
  if (!rules) throw notFound(resource, name);
  await requireHeld(write, rules, context);
}

const isMaster = ({ groups }: UserInfo): boolean => groups.includes(groupMasters);

function rolesOf({ kind }: RoleRef): 'roles' | 'clusterroles' | undefined {
  if (kind === 'Role') return 'roles';
  return kind === 'ClusterRole' ? 'clusterroles' : undefined;
}

const toAttributes = (
  attributes: Pick<ResourceAttributes, 'verb' | 'group' | 'resource' | 'namespace' | 'name'>,
): ResourceAttributes => ({ type: 'resource', version: everything, subresource: '', ...attributes });

/** An empty list of selectors aggregates nothing. */
const aggregates = ({ aggregationRule }: ClusterRole): boolean =>
  (aggregationRule?.clusterRoleSelectors ?? []).length > 0;

const allPermissions: readonly PolicyRule[] = [
  { verbs: [everything], apiGroups: [everything], resources: [everything] },
  { verbs: [everything], nonResourceURLs: [everything] },
];

async function holdsEverything({ user, namespace }: GuardedWrite, context: EscalationContext): Promise<boolean> {
  const held = await context.heldRules(user, namespace);
  return covers(held.rules, allPermissions).missing.length === 0;
}

async function requireHeld(
  write: GuardedWrite,
  rules: readonly PolicyRule[],
  context: EscalationContext,
): Promise<void> {
  const { user, namespace } = write;
  const held = await context.heldRules(user, namespace);
  const { missing, complete } = covers(held.rules, rules);
  if (missing.length === 0 && complete) return;
  const lines = [...describeRules(missing), ...(complete ? [] : ['and more than could be checked'])];
  const who = `user ${JSON.stringify(user.username)} (groups=${quoteAll(user.groups)})`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;
  throw refused(write, held.errors.length > 0 ? `${why}; resolution errors: [${held.errors.join(', ')}]` : why);
}

const refused = ({ resource, object }: GuardedWrite, why: string): StatusError =>
  forbiddenObject(resource, object.metadata.name ?? '', why);
