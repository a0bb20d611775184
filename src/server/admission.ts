import { type AdmissionPlugin, admissionChain } from '../admission/chain.ts';
import { type NamespacePhase, namespaceLifecycle } from '../admission/plugins/namespace-lifecycle.ts';
import { nodeRestriction } from '../admission/plugins/node-restriction/node-restriction.ts';
import { ownerReferencesPermissionEnforcement } from '../admission/plugins/owner-references-permission-enforcement.ts';
import { serviceAccount } from '../admission/plugins/service-account.ts';
import type { PluginName } from '../admission/plugins.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { RbacIndex } from '../authz/rbac/rbac-index.ts';
import type { Clock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { WatchCache } from '../cache/cache.ts';
import { parseStored } from '../codec/json.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { commonNameOfRequest } from '../pki/certificate-request-subject.ts';
import type { ResourceRegistry, ServedResource } from '../registry/resource-registry.ts';
import type { Admission } from '../request/admission.ts';
import { escalationPrevention } from './rbac.ts';

/** What the plugins look up of the server's other parts. */
interface AdmissionParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
  readonly authorizer: Authorizer;
  readonly rbac: RbacIndex;
}

/** The chain of the plugins that run, in the order of their names, and what no flag switches off. */
export const composeAdmission = (names: readonly PluginName[], parts: AdmissionParts): Admission =>
  admissionChain([
    ...names.map((name) => makers[name](parts)),
    escalationPrevention(parts.dialect, parts.rbac, parts.authorizer),
  ]);

const makers: Readonly<Record<PluginName, (parts: AdmissionParts) => AdmissionPlugin>> = {
  NamespaceLifecycle({ dialect, cache, resources }) {
    const namespaces = servedCore(resources, 'namespaces');
    return namespaceLifecycle({
      phase: (name) => phaseOf(namespaces, name) ?? cache.fresh().then(() => phaseOf(namespaces, name) ?? 'absent'),
      immortal: new Set(['default', dialect.namespaces.system, dialect.namespaces.public]),
      exempt: new Set([`localsubjectaccessreviews.${dialect.group('authorization')}`]),
    });
  },
  ServiceAccount({ dialect, clock, cache, resources }) {
    const accounts = servedCore(resources, 'serviceaccounts');
    return serviceAccount({
      dialect,
      clock,
      random: systemRandom,
      account: (namespace, name) =>
        objectOf(accounts, namespace, name) ?? cache.fresh().then(() => objectOf(accounts, namespace, name)),
    });
  },
  NodeRestriction({ dialect, cache, resources }) {
    const pods = servedCore(resources, 'pods');
    const nodes = servedCore(resources, 'nodes');
    return nodeRestriction({
      dialect,
      pod: (namespace, name) =>
        objectOf(pods, namespace, name) ?? cache.fresh().then(() => objectOf(pods, namespace, name)),
      node: (name) => objectOf(nodes, '', name) ?? cache.fresh().then(() => objectOf(nodes, '', name)),
      commonName: (request) => commonNameOfRequest(Buffer.from(request, 'base64').toString()),
    });
  },
  OwnerReferencesPermissionEnforcement({ resources, authorizer }) {
    return ownerReferencesPermissionEnforcement({
      authorize: async (question, user) => {
        const { verdict, reason } = await authorizer.authorize({ type: 'resource', ...question }, user);
        return { allowed: verdict === 'allow', reason };
      },
      resourcesOf: (apiVersion, kind) =>
        [...resources.all()]
          .filter((served) => served.apiVersion === apiVersion && served.kind.kind === kind)
          .map(({ name, kind: { version, scope } }) => ({ ...name, version, namespaced: scope === 'Namespaced' })),
    });
  },
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
