import { admissionMetrics } from '../../../admission/admission-metrics.ts';
import { type AdmissionPlugin, admissionChain } from '../../../admission/chain.ts';
import type { DefaultClasses, DefaultedKind } from '../../../admission/default-classes.ts';
import { alwaysPullImages } from '../../../admission/plugins/always-pull-images.ts';
import { certificateApproval } from '../../../admission/plugins/certificate-approval.ts';
import { certificateSigning } from '../../../admission/plugins/certificate-signing.ts';
import { certificateSubjectRestriction } from '../../../admission/plugins/certificate-subject-restriction.ts';
import type { Classes, DefaultedClasses } from '../../../admission/plugins/classes.ts';
import { clusterTrustBundleAttest } from '../../../admission/plugins/cluster-trust-bundle-attest.ts';
import { defaultIngressClass } from '../../../admission/plugins/default-ingress-class.ts';
import { defaultStorageClass } from '../../../admission/plugins/default-storage-class.ts';
import { defaultTolerationSeconds } from '../../../admission/plugins/default-toleration-seconds.ts';
import { denyServiceExternalIps } from '../../../admission/plugins/deny-service-external-ips.ts';
import { type CountedEvent, EventLimits, type ReachedLimit } from '../../../admission/plugins/event-limits.ts';
import { eventRateLimit } from '../../../admission/plugins/event-rate-limit.ts';
import { extendedResourceToleration } from '../../../admission/plugins/extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from '../../../admission/plugins/limit-pod-hard-anti-affinity-topology.ts';
import { limitRanger } from '../../../admission/plugins/limit-ranger.ts';
import { namespaceAutoProvision } from '../../../admission/plugins/namespace-auto-provision.ts';
import { namespaceExists } from '../../../admission/plugins/namespace-exists.ts';
import { type NamespacePhase, namespaceLifecycle } from '../../../admission/plugins/namespace-lifecycle.ts';
import { nodeRestriction } from '../../../admission/plugins/node-restriction/node-restriction.ts';
import {
  type OwnerResource,
  ownerReferencesPermissionEnforcement,
} from '../../../admission/plugins/owner-references-permission-enforcement.ts';
import { persistentVolumeClaimResize } from '../../../admission/plugins/persistent-volume-claim-resize.ts';
import type { PluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import { podNodeSelector } from '../../../admission/plugins/pod-node-selector.ts';
import {
  type ExistingPodsQuestion,
  warningsOfExistingPods,
} from '../../../admission/plugins/pod-security/existing-pods.ts';
import { podSecurity } from '../../../admission/plugins/pod-security/pod-security.ts';
import {
  type PodSecurityOutcome,
  podSecurityMetrics,
} from '../../../admission/plugins/pod-security/pod-security-metrics.ts';
import { podTolerationRestriction } from '../../../admission/plugins/pod-toleration-restriction.ts';
import { type PolicyResource, policyParameters } from '../../../admission/plugins/policy-parameters.ts';
import { priority } from '../../../admission/plugins/priority.ts';
import type { QuotaRefusal, QuotaRequest } from '../../../admission/plugins/resource-quota/check-quotas.ts';
import { QuotaLedger } from '../../../admission/plugins/resource-quota/quota-ledger.ts';
import { resourceQuota } from '../../../admission/plugins/resource-quota/resource-quota.ts';
import { runtimeClass } from '../../../admission/plugins/runtime-class.ts';
import { serviceAccount } from '../../../admission/plugins/service-account.ts';
import type { SignerPlugins } from '../../../admission/plugins/signer-permission.ts';
import { storageObjectInUseProtection } from '../../../admission/plugins/storage-object-in-use-protection.ts';
import { taintNodesByCondition } from '../../../admission/plugins/taint-nodes-by-condition.ts';
import type { PluginName } from '../../../admission/plugins.ts';
import { type MutatingParts, mutatingPolicies } from '../../../admission/policies/mutating-policies.ts';
import { type ValidatingParts, validatingPolicies } from '../../../admission/policies/validating-policies.ts';
import { mutatingWebhooks } from '../../../admission/webhooks/mutating-webhooks.ts';
import { validatingWebhooks } from '../../../admission/webhooks/validating-webhooks.ts';
import type { WebhookParts } from '../../../admission/webhooks/webhook-dispatch.ts';
import type { Authorizer } from '../../../authz/authorizer.ts';
import type { EscalationContext } from '../../../authz/rbac/escalation.ts';
import type { RbacIndex } from '../../../authz/rbac/rbac-index.ts';
import type { Caller } from '../../../base/caller.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Random } from '../../../base/random.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { type ApiClient, ApiError, hasReason } from '../../../client/api-client.ts';
import { parseStored } from '../../../codec/json.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { insecureNodeRequests, nodeAudiences } from '../../../dialect/published-feature-gates.ts';
import { signerNames } from '../../../dialect/signer-names.ts';
import { Evaluators } from '../../../kinds/quota/evaluators.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { commonNameOfRequest, readCertificateRequest } from '../../../pki/certificate-request.ts';
import { refuseCorrupt } from '../../../registry/read/read-checks.ts';
import type { Decision } from '../../../request/access.ts';
import type { Admission, AdmissionAttributes } from '../../../request/admission.ts';
import type { Attributes } from '../../../request/authorization-attributes.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import { FollowedByNamespace } from '../../admission/follow-by-namespace.ts';
import { followQuotas } from '../../admission/followed-quotas.ts';
import type { DynamicAdmission } from '../../admission/open-dynamic-admission.ts';
import type { ScopeParts } from '../scopes/scope-parts.ts';
import { ParsedNamespaces } from './parsed-namespaces.ts';
import { escalationPrevention } from './rbac.ts';

/**
 * Lookups that admission plugins need from the server. Arguments and results are plain data, so that plugins on the
 * second thread can use them by message.
 */
export interface AdmissionLookups {
  namespacePhase(name: string): NamespacePhase | Promise<NamespacePhase>;
  /** An object, not older than any write acknowledged before the request. */
  object(resource: LookedUp, namespace: string, name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** Decision of the authorizer chain. The signal of the request stays on its thread. */
  authorize(attributes: Attributes, user: UserInfo, request: Caller): Decision | Promise<Decision>;
  /** The served resources of a kind in a version; empty if none. */
  resourcesOf(apiVersion: string, kind: string): readonly OwnerResource[] | Promise<readonly OwnerResource[]>;
  readonly heldRules: EscalationContext['heldRules'];
  readonly roleRules: EscalationContext['roleRules'];
  /** A Namespace; undefined if there is none of that name. Includes all writes acknowledged before the request. */
  namespace(name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** The class of objects that name none, as far as the cache knows. */
  defaultClass(kind: DefaultedKind): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** Waits for the cache: pods that were acknowledged before the call count. */
  existingPodWarnings(question: ExistingPodsQuestion): Promise<readonly string[]>;
  podSecurityObserved(outcome: PodSecurityOutcome): void;
  /** Creates a namespace. Returns why it could not; undefined if it exists now. */
  provisionNamespace(name: string): Promise<string | undefined>;
  /** Counts an event against the limits of this server. */
  countEvent(event: CountedEvent): ReachedLimit | undefined | Promise<ReachedLimit | undefined>;
  /** The LimitRanges of a namespace, by name. Includes all writes acknowledged before the request. */
  limitRanges(namespace: string, signal: AbortSignal): readonly ApiObject[] | Promise<readonly ApiObject[]>;
  /** Whether writes in the namespace may be counted by a quota. The same freshness. */
  countsQuota(namespace: string, signal: AbortSignal): boolean | Promise<boolean>;
  /** Charges a write to the quotas of its namespace; `write` is the same object in all of its attempts. */
  chargeQuota(request: QuotaRequest, write: object, signal: AbortSignal): Promise<QuotaRefusal | undefined>;
  readonly dynamic: DynamicAdmission;
}

type LookedUp = 'serviceaccounts' | 'pods' | 'nodes' | StorageResource | ClassResource | PolicyResource;
type StorageResource = 'persistentvolumeclaims' | 'persistentvolumes' | 'csidrivers';
type ClassResource = 'priorityclasses' | 'runtimeclasses' | 'storageclasses';

interface LookupParts
  extends Pick<ScopeParts, 'dialect' | 'clock' | 'metrics' | 'clients' | 'cache' | 'resources' | 'logger' | 'held'> {
  readonly dynamic: DynamicAdmission;
  readonly defaultClasses: DefaultClasses;
  readonly configurations: PluginConfigurations;
  readonly authorizer: Authorizer;
  readonly rbac: RbacIndex;
}

/** Reads from the cache, which has what was acknowledged before the request; waits for newer objects that it lacks. */
export function admissionLookups(parts: LookupParts): AdmissionLookups {
  const { dialect, clock, cache, resources, authorizer, rbac, dynamic } = parts;
  const events = new EventLimits(parts.configurations.eventLimits, clock);
  const core = (resource: string) => resources.finder('', 'v1', resource);
  const namespaces = core('namespaces');
  const parsed = new ParsedNamespaces();
  const served: Readonly<Record<LookedUp, () => ServedResource | undefined>> = {
    serviceaccounts: core('serviceaccounts'),
    pods: core('pods'),
    nodes: core('nodes'),
    persistentvolumeclaims: core('persistentvolumeclaims'),
    persistentvolumes: core('persistentvolumes'),
    csidrivers: resources.finder(dialect.group('storage'), 'v1', 'csidrivers'),
    priorityclasses: resources.finder(dialect.group('scheduling'), 'v1', 'priorityclasses'),
    runtimeclasses: resources.finder(dialect.group('node'), 'v1', 'runtimeclasses'),
    storageclasses: resources.finder(dialect.group('storage'), 'v1', 'storageclasses'),
    validatingadmissionpolicies: resources.finder(policyGroup(dialect), 'v1', 'validatingadmissionpolicies'),
    mutatingadmissionpolicies: resources.finder(policyGroup(dialect), 'v1alpha1', 'mutatingadmissionpolicies'),
  };
  return {
    namespacePhase: (name) =>
      phaseOf(namespaces(), name) ??
      cache.fresh().then(() => phaseOf(namespaces(), name) ?? absentIn(namespaces(), name)),
    object: (resource, namespace, name) =>
      objectOf(served[resource](), namespace, name) ??
      cache.fresh().then(() => objectOf(served[resource](), namespace, name)),
    resourcesOf: (apiVersion, kind) => ownerResources(resources, apiVersion, kind),
    authorize: (attributes, user, request) => authorizer.authorize(attributes, user, request),
    heldRules: (user, namespace) => rbac.heldRules(user, namespace),
    roleRules: (kind, name, namespace) => rbac.roleRules(kind, name, namespace),
    namespace: (name) => parsed.get(namespaces(), name) ?? cache.fresh().then(() => parsed.get(namespaces(), name)),
    defaultClass: (kind) => parts.defaultClasses.find(kind),
    async existingPodWarnings(question) {
      if (!cache.isFresh()) await cache.fresh();
      return warningsOfExistingPods(question, podsIn(served.pods(), question.namespace), clock);
    },
    podSecurityObserved: podSecurityMetrics(parts.metrics),
    countEvent: (event) => events.take(event),
    provisionNamespace: (name) => provisionNamespace(parts.clients.server, name),
    ...quotaLookups(parts),
    dynamic,
  };
}

/** What namespaces may use. */
function quotaLookups(parts: LookupParts): Pick<AdmissionLookups, 'limitRanges' | 'countsQuota' | 'chargeQuota'> {
  const { dialect, clock, dynamic, held, configurations } = parts;
  const read = (object: ApiObject): ApiObject => object;
  const ranges = held.add(new FollowedByNamespace({ ...parts, resource: 'limitranges', read }));
  const ledger = new QuotaLedger({
    ...{ clock, quotas: followQuotas(parts), evaluators: new Evaluators(dialect) },
    limited: configurations.limitedResources,
  });
  const once = <T>(signal: AbortSignal, look: () => T): T | Promise<T> =>
    dynamic.upToDate(signal)?.then(look) ?? look();
  return {
    limitRanges: (namespace, signal) => once(signal, () => ranges.of(namespace)),
    countsQuota: (namespace, signal) => once(signal, () => ledger.concerns(namespace)),
    chargeQuota: (request, write, signal) => ledger.charge(request, write, signal),
  };
}

const policyGroup = (dialect: Dialect): string => dialect.group('admissionregistration');

interface AdmissionParts {
  readonly dialect: Dialect;
  readonly configurations: PluginConfigurations;
  /** Names of the enabled feature gates. */
  readonly features: ReadonlySet<string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly lookups: AdmissionLookups;
  /** Others wait for this thread: plugins throw LongWork instead of what takes long. */
  readonly inline?: boolean;
  /** Default: nothing is measured. */
  readonly metrics?: Metrics;
}

/**
 * The chain of what no flag disables, because it keeps users from getting rights that they do not have, and the enabled
 * plugins in the order of `names`.
 */
export function composeAdmission(names: readonly PluginName[], parts: AdmissionParts): Admission {
  const plugins = [
    escalationPrevention(parts.dialect, {
      heldRules: parts.lookups.heldRules,
      roleRules: parts.lookups.roleRules,
      isAllowed: async (attributes, user, request) =>
        (await parts.lookups.authorize(attributes, user, request)).verdict === 'allow',
    }),
    policyParameters({
      group: policyGroup(parts.dialect),
      authorize: (attributes, user, request) => parts.lookups.authorize(attributes, user, request),
      resourcesOf: (apiVersion, kind) => parts.lookups.resourcesOf(apiVersion, kind),
      policy: (resource, name) => parts.lookups.object(resource, '', name),
    }),
    ...names.map((name) => makers[name](parts)),
  ];
  if (!parts.metrics) return admissionChain(plugins);
  const measured = admissionMetrics(parts.metrics, parts.clock);
  return measured.chain(admissionChain(plugins.map((plugin) => measured.plugin(plugin))));
}

const makers: Readonly<Record<PluginName, (parts: AdmissionParts) => AdmissionPlugin>> = {
  NamespaceAutoProvision: ({ lookups }) =>
    namespaceAutoProvision({
      phase: (name) => lookups.namespacePhase(name),
      provision: (name) => lookups.provisionNamespace(name),
    }),
  NamespaceLifecycle: ({ dialect, lookups }) =>
    namespaceLifecycle({
      phase: (name) => lookups.namespacePhase(name),
      immortal: new Set(['default', dialect.namespaces.system, dialect.namespaces.public]),
      exempt: new Set([`localsubjectaccessreviews.${dialect.group('authorization')}`]),
    }),
  LimitPodHardAntiAffinityTopology: ({ dialect }) => limitPodHardAntiAffinityTopology(dialect),
  NamespaceExists: ({ lookups }) => namespaceExists({ phase: (name) => lookups.namespacePhase(name) }),
  LimitRanger: ({ dialect, lookups }) =>
    limitRanger({ dialect, limitRanges: (namespace, signal) => lookups.limitRanges(namespace, signal) }),
  ServiceAccount: ({ dialect, clock, random, lookups }) =>
    serviceAccount({
      dialect,
      clock,
      random,
      account: (namespace, name) => lookups.object('serviceaccounts', namespace, name),
    }),
  NodeRestriction: ({ dialect, features, lookups }) =>
    nodeRestriction({
      dialect,
      checksRequestedNames: !features.has(insecureNodeRequests),
      checksAudiences: features.has(nodeAudiences),
      storage: {
        claim: (namespace, name) => lookups.object('persistentvolumeclaims', namespace, name),
        volume: (name) => lookups.object('persistentvolumes', '', name),
        driver: (name) => lookups.object('csidrivers', '', name),
      },
      pod: (namespace, name) => lookups.object('pods', namespace, name),
      node: (name) => lookups.object('nodes', '', name),
      commonName: (request) => commonNameOfRequest(Buffer.from(request, 'base64')),
    }),
  TaintNodesByCondition: ({ dialect }) => taintNodesByCondition(dialect),
  AlwaysPullImages: alwaysPullImages,
  PodSecurity: ({ dialect, configurations, lookups }) =>
    podSecurity({
      dialect,
      configuration: configurations.podSecurity,
      namespace: (name) => lookups.namespace(name),
      existingPodWarnings: (question) => lookups.existingPodWarnings(question),
      observed: (outcome) => lookups.podSecurityObserved(outcome),
    }),
  PodNodeSelector: ({ dialect, configurations, lookups }) =>
    podNodeSelector({
      dialect,
      selectors: configurations.podNodeSelectors,
      namespace: (name) => lookups.namespace(name),
    }),
  Priority: ({ dialect, lookups }) =>
    priority({ group: dialect.group('scheduling'), classes: defaultedClasses(lookups, 'priorityclasses') }),
  DefaultTolerationSeconds: ({ dialect, configurations }) =>
    defaultTolerationSeconds({ dialect, seconds: configurations.tolerationSeconds }),
  PodTolerationRestriction: ({ dialect, configurations, lookups, inline = false }) =>
    podTolerationRestriction({
      dialect,
      tolerations: configurations.podTolerations,
      inline,
      namespace: (name) => lookups.namespace(name),
    }),
  EventRateLimit: ({ dialect, lookups }) => eventRateLimit({ dialect, take: (event) => lookups.countEvent(event) }),
  ExtendedResourceToleration: ({ dialect }) => extendedResourceToleration(dialect),
  DefaultStorageClass: ({ dialect, lookups }) =>
    defaultStorageClass({ dialect, classes: defaultedClasses(lookups, 'storageclasses') }),
  StorageObjectInUseProtection: ({ dialect }) => storageObjectInUseProtection(dialect),
  OwnerReferencesPermissionEnforcement: ({ lookups }) =>
    ownerReferencesPermissionEnforcement({
      authorize: async (question, user, request) => {
        const { verdict, reason } = await lookups.authorize({ type: 'resource', ...question }, user, request);
        return { allowed: verdict === 'allow', reason };
      },
      resourcesOf: (apiVersion, kind) => lookups.resourcesOf(apiVersion, kind),
    }),
  PersistentVolumeClaimResize: ({ dialect, lookups }) =>
    persistentVolumeClaimResize({ dialect, classes: classes(lookups, 'storageclasses') }),
  RuntimeClass: ({ lookups, inline = false }) => runtimeClass({ classes: classes(lookups, 'runtimeclasses'), inline }),
  CertificateApproval: (parts) => certificateApproval(signerPlugins(parts)),
  CertificateSigning: (parts) => certificateSigning(signerPlugins(parts)),
  ClusterTrustBundleAttest: (parts) => clusterTrustBundleAttest(signerPlugins(parts)),
  CertificateSubjectRestriction: ({ dialect }) =>
    certificateSubjectRestriction({
      group: dialect.group('certificates'),
      clientSigner: signerNames(dialect).client,
      organizations: async (request) => (await readCertificateRequest(Buffer.from(request, 'base64'))).organizations,
    }),
  DefaultIngressClass: ({ dialect, lookups }) =>
    defaultIngressClass({ dialect, classes: defaultOf(lookups, 'ingressclasses') }),
  DenyServiceExternalIPs: denyServiceExternalIps,
  MutatingAdmissionPolicy: (parts) =>
    mutatingPolicies({ ...dynamicParts(parts), enabled: parts.features.has('MutatingAdmissionPolicy') }),
  MutatingAdmissionWebhook: (parts) => mutatingWebhooks(dynamicParts(parts)),
  ValidatingAdmissionPolicy: (parts) => validatingPolicies(dynamicParts(parts)),
  ValidatingAdmissionWebhook: (parts) => validatingWebhooks(dynamicParts(parts)),
  ResourceQuota: ({ dialect, clock, lookups }) =>
    resourceQuota({
      dialect,
      clock,
      countsIn: (namespace, signal) => lookups.countsQuota(namespace, signal),
      charge: (request, { write, signal }) => lookups.chargeQuota(request, write, signal),
    }),
};

const dynamicParts = ({
  dialect,
  clock,
  random,
  lookups,
}: AdmissionParts): WebhookParts & Omit<MutatingParts, 'enabled'> & ValidatingParts => ({
  ...{ dialect, clock, random },
  ...lookups.dynamic,
  namespace: (name) => lookups.namespace(name),
  namespaceLabels: (name) => {
    const found = lookups.namespace(name);
    return found instanceof Promise ? found.then(labelsOf) : labelsOf(found);
  },
  authorize: (attributes, user, request) => lookups.authorize(attributes, user, request),
});

const classes = (lookups: AdmissionLookups, resource: ClassResource): Classes => ({
  named: (name, write) => whenUpToDate(lookups, write, () => lookups.object(resource, '', name)),
});

const defaultOf = (lookups: AdmissionLookups, kind: DefaultedKind): Pick<DefaultedClasses, 'byDefault'> => ({
  byDefault: (write) => whenUpToDate(lookups, write, () => lookups.defaultClass(kind)),
});

const defaultedClasses = (lookups: AdmissionLookups, kind: ClassResource & DefaultedKind): DefaultedClasses => ({
  ...classes(lookups, kind),
  ...defaultOf(lookups, kind),
});

/** Looks up in a cache that has what was acknowledged before the write came. */
function whenUpToDate<T>({ dynamic }: AdmissionLookups, { signal }: AdmissionAttributes, find: () => T | Promise<T>) {
  const waiting = dynamic.upToDate(signal);
  return waiting ? waiting.then(find) : find();
}

const signerPlugins = ({ dialect, lookups }: AdmissionParts): SignerPlugins => ({
  group: dialect.group('certificates'),
  authorize: (attributes, user, request) => lookups.authorize(attributes, user, request),
});

function ownerResources({ table }: ResourceRegistry, apiVersion: string, kind: string): readonly OwnerResource[] {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return [...table.ofGroup(group)]
    .filter((served) => served.apiVersion === apiVersion && served.kind.kind === kind)
    .map(({ name, kind: { version, scope } }) => ({ ...name, version, namespaced: scope === 'Namespaced' }));
}

function phaseOf(served: ServedResource | undefined, name: string): Exclude<NamespacePhase, 'absent'> | undefined {
  const entry = served?.collection.get(served.objectKey('', name));
  return entry && (entry.field('status.phase') === 'Terminating' ? 'Terminating' : 'Active');
}

/** A namespace whose value cannot be read is there. */
function absentIn(served: ServedResource | undefined, name: string): 'absent' {
  if (served) refuseCorrupt(served.collection.snapshot(), served.objectKey('', name));
  return 'absent';
}

const labelsOf = (object: ApiObject | undefined): Readonly<Record<string, string>> | undefined =>
  object && (object.metadata.labels ?? {});

/** Another server, or another request, may create the namespace first. */
async function provisionNamespace(client: ApiClient, name: string): Promise<string | undefined> {
  try {
    await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return hasReason(error, 'AlreadyExists') ? undefined : error.message;
  }
}

/** The pods of a namespace as they are now; parsed one by one. */
function* podsIn(served: ServedResource | undefined, namespace: string): Iterable<() => ApiObject> {
  if (!served) return;
  for (const entry of served.collection.snapshot().entries(served.collectionKey(namespace))) {
    yield () => parseStored(entry.bytes) as ApiObject;
  }
}

function objectOf(served: ServedResource | undefined, namespace: string, name: string): ApiObject | undefined {
  const entry = served?.collection.get(served.objectKey(namespace, name));
  return entry && (parseStored(entry.bytes) as ApiObject);
}
