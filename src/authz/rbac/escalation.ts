import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../base/caller.ts';
import { asBinding, type RoleRef } from '../../kinds/rbac/binding.ts';
import { asClusterRole, type ClusterRole } from '../../kinds/rbac/cluster-role.ts';
import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { badRequest, notFound, type ResourceName, StatusError } from '../../meta/status-error.ts';
import { groupMasters, type UserInfo } from '../../request/user-info.ts';
import type { ResourceAttributes } from '../authorizer.ts';
import { covers } from './covers.ts';
import { describeRules, quoteAll } from './describe-rules.ts';
import type { HeldRules } from './rbac-index.ts';

/**
 * Nobody gives away what they don't hold (spec section 5.8): checked for every write of a role or binding, whatever verb
 * made it. Each check throws a StatusError where the write is refused.
 */

/** What the checks ask of the server. */
export interface EscalationPowers {
  /** The rules that a user holds in a namespace; '' is in the whole cluster. */
  readonly heldRules: (user: UserInfo, namespace: string) => HeldRules | Promise<HeldRules>;
  /** The rules of a role that a binding in `namespace` names; undefined where there is none. */
  readonly roleRules: (
    kind: string,
    name: string,
    namespace: string,
  ) => readonly PolicyRule[] | undefined | Promise<readonly PolicyRule[] | undefined>;
  /** Whether all authorizers together let the user do this: asked for the verbs `escalate` and `bind`. */
  readonly isAllowed: (attributes: ResourceAttributes, user: UserInfo, request: Caller) => Promise<boolean> | boolean;
}

/** A write of a role or binding. */
export interface GuardedWrite extends Caller {
  readonly user: UserInfo;
  /** `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`, with the full name of their group. */
  readonly resource: ResourceName;
  /** '' for the kinds of the cluster. */
  readonly namespace: string;
  /** The name that stands in the path of the request; '' for a POST. */
  readonly requestName: string;
  /** What is to be stored, with its defaults. */
  readonly object: ApiObject;
  /** What is stored now; undefined where there is nothing. */
  readonly old: ApiObject | undefined;
}

/** May this role be written? Who may `escalate` it may give it any rules. */
export async function checkRoleEscalation(write: GuardedWrite, powers: EscalationPowers): Promise<void> {
  const { user, resource, namespace, requestName, object, old } = write;
  if (isMaster(user) || (old && changesNoMoreThanOwners(object, old))) return;
  const { group, resource: roles } = resource;
  const attributes = { verb: 'escalate', group, resource: roles, namespace, name: requestName };
  if (await powers.isAllowed(toAttributes(attributes), user, write)) return;
  await requireHeld(write, asClusterRole(object).rules ?? [], powers);
  if (
    (aggregates(asClusterRole(object)) || (old && aggregates(asClusterRole(old)))) &&
    !(await holdsEverything(write, powers))
  ) {
    throw refused(write, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

/** May this binding be written? Who may `bind` the role may give it to anybody. */
export async function checkBindingEscalation(write: GuardedWrite, powers: EscalationPowers): Promise<void> {
  const { user, resource, namespace, object, old } = write;
  if (isMaster(user) || (old && changesNoMoreThanOwners(object, old))) return;
  const { apiGroup = '', kind = '', name = '' } = asBinding(object).roleRef ?? {};
  const roles = rolesOf({ kind });
  if (roles === undefined) throw badRequest(`unsupported role reference kind: ${JSON.stringify(kind)}`);
  const attributes = { verb: 'bind', group: apiGroup, resource: roles, namespace, name };
  if (await powers.isAllowed(toAttributes(attributes), user, write)) return;
  const rules = await powers.roleRules(kind, name, namespace);
  if (!rules) throw notFound({ group: resource.group, resource: roles }, name);
  await requireHeld(write, rules, powers);
}

const isMaster = ({ groups }: UserInfo): boolean => groups.includes(groupMasters);

function rolesOf({ kind }: RoleRef): 'roles' | 'clusterroles' | undefined {
  if (kind === 'Role') return 'roles';
  return kind === 'ClusterRole' ? 'clusterroles' : undefined;
}

const toAttributes = (
  attributes: Pick<ResourceAttributes, 'verb' | 'group' | 'resource' | 'namespace' | 'name'>,
): ResourceAttributes => ({ type: 'resource', version: everything, subresource: '', ...attributes });

/** An empty list of selectors gathers nothing. */
const aggregates = ({ aggregationRule }: ClusterRole): boolean =>
  (aggregationRule?.clusterRoleSelectors ?? []).length > 0;

const allPermissions: readonly PolicyRule[] = [
  { verbs: [everything], apiGroups: [everything], resources: [everything] },
  { verbs: [everything], nonResourceURLs: [everything] },
];

async function holdsEverything({ user, namespace }: GuardedWrite, powers: EscalationPowers): Promise<boolean> {
  const held = await powers.heldRules(user, namespace);
  return covers(held.rules, allPermissions).missing.length === 0;
}

async function requireHeld(write: GuardedWrite, rules: readonly PolicyRule[], powers: EscalationPowers): Promise<void> {
  const { user, namespace } = write;
  const held = await powers.heldRules(user, namespace);
  const { missing, complete } = covers(held.rules, rules);
  if (missing.length === 0 && complete) return;
  const lines = [...describeRules(missing), ...(complete ? [] : ['and more than could be checked'])];
  const who = `user ${JSON.stringify(user.username)} (groups=${quoteAll(user.groups)})`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;
  throw refused(write, held.errors.length > 0 ? `${why}; resolution errors: [${held.errors.join(', ')}]` : why);
}

function refused({ resource, object }: GuardedWrite, why: string): StatusError {
  const name = object.metadata.name ?? '';
  const { group } = resource;
  const what = group === '' ? resource.resource : `${resource.resource}.${group}`;
  const whose = name === '' ? what : `${what} ${JSON.stringify(name)}`;
  return new StatusError('Forbidden', `${whose} is forbidden: ${why}`, {
    details: { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: resource.resource },
  });
}

/** Controllers that hold no permissions must be able to take finalizers and owners away, so that objects can go. */
const changesNoMoreThanOwners = (object: ApiObject, old: ApiObject): boolean =>
  isDeepStrictEqual(withoutOwners(object), withoutOwners(old));

function withoutOwners({ metadata, ...rest }: ApiObject): unknown {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _managers,
    resourceVersion: _version,
    ...kept
  } = metadata;
  return { ...rest, metadata: kept };
}
