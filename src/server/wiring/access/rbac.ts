import { setImmediate as turn } from 'node:timers/promises';
import type { AdmissionPlugin } from '../../../admission/chain.ts';
import { checkBindingEscalation, checkRoleEscalation, type EscalationContext } from '../../../authz/rbac/escalation.ts';
import { RbacIndex, type RbacKind } from '../../../authz/rbac/rbac-index.ts';
import { type Closable, ClosableStack } from '../../../base/disposable.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import { startInformer } from '../../../resources/object-informer.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import { decode } from '../../../schema/decode.ts';

/** The kinds in the index, and the escalation check for writes of each. Roles come before bindings. */
const guards = {
  Role: checkRoleEscalation,
  ClusterRole: checkRoleEscalation,
  RoleBinding: checkBindingEscalation,
  ClusterRoleBinding: checkBindingEscalation,
} as const satisfies Readonly<Record<RbacKind, unknown>>;

const rbacKinds = Object.keys(guards) as readonly RbacKind[];

const rbacGroup = (dialect: Dialect): string => dialect.group('rbac.authorization');

/** The served resource of a kind of the RBAC group, if any. */
export function findRbac({ table }: ResourceRegistry, dialect: Dialect, kind: string): ServedResource | undefined {
  for (const served of table.ofGroup(rbacGroup(dialect))) if (served.kind.kind === kind) return served;
  return undefined;
}

interface RbacParts {
  readonly resources: ResourceRegistry;
  readonly dialect: Dialect;
  readonly logger: Logger;
}

/** The index of roles and bindings, kept up to date until closed. */
interface FollowingRbac extends Closable {
  readonly index: RbacIndex;
  /** Resolves when the index includes everything that the cache has. */
  caughtUp(): Promise<void>;
}

export function openRbac({ resources, dialect, logger }: RbacParts): FollowingRbac {
  const index = new RbacIndex(rbacGroup(dialect));
  const closing = new ClosableStack();
  const informers = rbacKinds.map((kind) => {
    const find = resources.finder(rbacGroup(dialect), 'v1', `${kind.toLowerCase()}s`);
    const put = (object: ApiObject, served: ServedResource): void => index.put(kind, decoded(object, served));
    const remove = (namespace: string, name: string): void => index.remove(kind, namespace, name);
    return { find, informer: closing.add(startInformer({ resources, find }, { put, remove }, logger)) };
  });
  return {
    index,
    async caughtUp() {
      const wanted = informers.map(({ find, informer }) => ({
        informer,
        revision: find()?.collection.line.revision ?? 0,
      }));
      // An informer is behind the cache only while it starts its watch.
      while (!closing.isClosed && wanted.some(({ informer, revision }) => informer.revision < revision)) await turn();
    },
    close: () => closing.close(),
  };
}

/** Other programs may write to a shared store: an object that does not match its schema grants nothing. */
function decoded(object: ApiObject, { kind: { schema } }: ServedResource): ApiObject {
  const { value, errors } = decode(schema, object);
  const [error] = errors;
  if (error) throw new Error(`${error.path}: expected ${error.expected}`);
  return value as ApiObject;
}

/**
 * Refuses writes of roles and bindings that would grant rights that the user does not hold (spec section 5.8). Always
 * enabled, unlike other plugins: RBAC would be meaningless without it.
 */
export function escalationPrevention(dialect: Dialect, context: EscalationContext): AdmissionPlugin {
  const group = rbacGroup(dialect);
  return {
    name: 'EscalationPrevention',
    sideEffects: 'none',
    concerns: ({ kind, operation }) =>
      kind.group === group && Object.hasOwn(guards, kind.kind) && operation !== 'delete' && operation !== 'connect',
    validate: (attributes) => guard(attributes, context),
  };
}

async function guard(attributes: AdmissionAttributes, context: EscalationContext): Promise<void> {
  const { kind, info, object, old, user, signal } = attributes;
  if (!object) return;
  const write = {
    user,
    resource: { group: info.group, resource: info.resource },
    namespace: info.namespace,
    requestName: info.name,
    object,
    old,
    signal,
  };
  await guards[kind.kind as RbacKind](write, context);
}
