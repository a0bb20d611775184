import { type AdmissionPlugin, admissionChain } from '../../admission/chain.ts';
import { type NamespacePhase, namespaceLifecycle } from '../../admission/plugins/namespace-lifecycle.ts';
import { nodeRestriction } from '../../admission/plugins/node-restriction/node-restriction.ts';
import { ownerReferencesPermissionEnforcement } from '../../admission/plugins/owner-references-permission-enforcement.ts';
import { serviceAccount } from '../../admission/plugins/service-account.ts';
import type { PluginName } from '../../admission/plugins.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { EscalationPowers } from '../../authz/rbac/escalation.ts';
import type { RbacIndex } from '../../authz/rbac/rbac-index.ts';
import type { Caller } from '../../base/caller.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { commonNameOfRequest } from '../../pki/certificate-request.ts';
import type { Decision } from '../../request/access.ts';
import type { Admission } from '../../request/admission.ts';
import type { ResourceAttributes } from '../../request/attributes.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { escalationPrevention } from './rbac.ts';

/**
 * What plugins ask of the server's other parts. Plain data in and out, so that a plugin that runs on another thread can ask
 * as well.
 */
export interface AdmissionLookups {
  namespacePhase(name: string): NamespacePhase | Promise<NamespacePhase>;
  /** An object of the core group, not older than any write acknowledged before the call. */
  object(resource: LookedUp, namespace: string, name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** What the chain of authorizers says. The signal of the request stays on its thread. */
  authorize(attributes: ResourceAttributes, user: UserInfo, request: Caller): Decision | Promise<Decision>;
  readonly heldRules: EscalationPowers['heldRules'];
  readonly roleRules: EscalationPowers['roleRules'];
}

type LookedUp = 'serviceaccounts' | 'pods' | 'nodes';

interface LookupParts {
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
  readonly authorizer: Authorizer;
  readonly rbac: RbacIndex;
}

/** Looks at the cache, and waits for it where it may be behind. */
export function admissionLookups({ cache, resources, authorizer, rbac }: LookupParts): AdmissionLookups {
  const namespaces = servedCore(resources, 'namespaces');
  const served: Readonly<Record<LookedUp, ServedResource>> = {
    serviceaccounts: servedCore(resources, 'serviceaccounts'),
    pods: servedCore(resources, 'pods'),
    nodes: servedCore(resources, 'nodes'),
  };
  return {
    namespacePhase: (name) =>
      phaseOf(namespaces, name) ?? cache.fresh().then(() => phaseOf(namespaces, name) ?? 'absent'),
    object: (resource, namespace, name) =>
      objectOf(served[resource], namespace, name) ??
      cache.fresh().then(() => objectOf(served[resource], namespace, name)),
    authorize: (attributes, user, request) => authorizer.authorize(attributes, user, request),
    heldRules: (user, namespace) => rbac.heldRules(user, namespace),
    roleRules: (kind, name, namespace) => rbac.roleRules(kind, name, namespace),
  };
}

interface AdmissionParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly resources: ResourceRegistry;
  readonly lookups: AdmissionLookups;
}

/** The chain of the plugins that run, in the order of their names, and what no flag switches off. */
export const composeAdmission = (names: readonly PluginName[], parts: AdmissionParts): Admission =>
  admissionChain([
    ...names.map((name) => makers[name](parts)),
    escalationPrevention(parts.dialect, {
      heldRules: parts.lookups.heldRules,
      roleRules: parts.lookups.roleRules,
      isAllowed: async (attributes, user, request) =>
        (await parts.lookups.authorize(attributes, user, request)).verdict === 'allow',
    }),
  ]);

const makers: Readonly<Record<PluginName, (parts: AdmissionParts) => AdmissionPlugin>> = {
  NamespaceLifecycle: ({ dialect, lookups }) =>
    namespaceLifecycle({
      phase: (name) => lookups.namespacePhase(name),
      immortal: new Set(['default', dialect.namespaces.system, dialect.namespaces.public]),
      exempt: new Set([`localsubjectaccessreviews.${dialect.group('authorization')}`]),
    }),
  ServiceAccount: ({ dialect, clock, random, lookups }) =>
    serviceAccount({
      dialect,
      clock,
      random,
      account: (namespace, name) => lookups.object('serviceaccounts', namespace, name),
    }),
  NodeRestriction: ({ dialect, lookups }) =>
    nodeRestriction({
      dialect,
      pod: (namespace, name) => lookups.object('pods', namespace, name),
      node: (name) => lookups.object('nodes', '', name),
      commonName: (request) => commonNameOfRequest(Buffer.from(request, 'base64').toString()),
    }),
  OwnerReferencesPermissionEnforcement: ({ resources, lookups }) =>
    ownerReferencesPermissionEnforcement({
      authorize: async (question, user, request) => {
        const { verdict, reason } = await lookups.authorize({ type: 'resource', ...question }, user, request);
        return { allowed: verdict === 'allow', reason };
      },
      resourcesOf: (apiVersion, kind) =>
        [...resources.all()]
          .filter((served) => served.apiVersion === apiVersion && served.kind.kind === kind)
          .map(({ name, kind: { version, scope } }) => ({ ...name, version, namespaced: scope === 'Namespaced' })),
    }),
};

function servedCore(resources: ResourceRegistry, resource: string): ServedResource {
  const served = resources.find('', 'v1', resource);
  if (!served) throw new Error(`${resource} are not served`);
  return served;
}

function phaseOf(
  { collection, objectKey }: ServedResource,
  name: string,
): Exclude<NamespacePhase, 'absent'> | undefined {
  const entry = collection.get(objectKey('', name));
  return entry && (entry.field('status.phase') === 'Terminating' ? 'Terminating' : 'Active');
}

function objectOf({ collection, objectKey }: ServedResource, namespace: string, name: string): ApiObject | undefined {
  const entry = collection.get(objectKey(namespace, name));
  return entry && (parseStored(entry.bytes) as ApiObject);
}
