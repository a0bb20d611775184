import type { AdmissionPlugin } from '../admission/chain.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import { checkBindingEscalation, checkRoleEscalation, type EscalationPowers } from '../authz/rbac/escalation.ts';
import { RbacIndex, type RbacKind } from '../authz/rbac/rbac-index.ts';
import { type Closable, ClosableStack } from '../base/disposable.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ResourceRegistry, ServedResource } from '../registry/resource-registry.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import { followObjects } from './object-feed.ts';

/** The kinds that the index is made of, and how a write of one is guarded. Roles stand before what binds them. */
const guards = {
  Role: checkRoleEscalation,
  ClusterRole: checkRoleEscalation,
  RoleBinding: checkBindingEscalation,
  ClusterRoleBinding: checkBindingEscalation,
} as const satisfies Readonly<Record<RbacKind, unknown>>;

const rbacKinds = Object.keys(guards) as readonly RbacKind[];

export const rbacGroup = (dialect: Dialect): string => dialect.group('rbac.authorization');

/** Where the objects of a kind of the group are. */
export function servedRbac(resources: ResourceRegistry, dialect: Dialect, kind: string): ServedResource {
  for (const served of resources.all()) {
    if (served.kind.group === rbacGroup(dialect) && served.kind.kind === kind) return served;
  }
  throw new Error(`${kind} is not served`);
}

/** The index of roles and bindings, in step with what is stored until it is closed. */
export function openRbac(resources: ResourceRegistry, dialect: Dialect): { readonly index: RbacIndex } & Closable {
  const index = new RbacIndex(rbacGroup(dialect));
  const feeds = new ClosableStack();
  for (const kind of rbacKinds) {
    feeds.add(
      followObjects(servedRbac(resources, dialect, kind), {
        put: (object) => index.put(kind, object),
        remove: (namespace, name) => index.remove(kind, namespace, name),
      }),
    );
  }
  return { index, close: () => feeds.close() };
}

/**
 * Refuses writes of roles and bindings that would give away what the writer does not hold (spec section 5.8). Not one of
 * the plugins that flags switch: without it the roles mean nothing.
 */
export function escalationPrevention(dialect: Dialect, index: RbacIndex, authorizer: Authorizer): AdmissionPlugin {
  const group = rbacGroup(dialect);
  const powers: EscalationPowers = {
    heldRules: (user, namespace) => index.heldRules(user, namespace),
    roleRules: (kind, name, namespace) => index.roleRules(kind, name, namespace),
    isAllowed: async (attributes, user) => (await authorizer.authorize(attributes, user)).verdict === 'allow',
  };
  return {
    name: 'EscalationPrevention',
    sideEffects: 'none',
    concerns: ({ kind, object }) => kind.group === group && Object.hasOwn(guards, kind.kind) && object !== undefined,
    validate: (attributes) => guard(attributes, powers),
  };
}

async function guard(attributes: AdmissionAttributes, powers: EscalationPowers): Promise<void> {
  const { kind, info, object, old, user } = attributes;
  if (!object) return;
  const write = {
    user,
    resource: { group: info.group, resource: info.resource },
    namespace: info.namespace,
    requestName: info.name,
    object,
    old,
  };
  await guards[kind.kind as RbacKind](write, powers);
}
