import { type Closable, ClosableStack } from '../base/disposable.ts';
import { inOwnTurn } from '../base/time/turns.ts';
import type { ApiClient } from '../client/api-client.ts';
import { ApiEventRecorder } from '../client/event-recorder.ts';
import { SharedInformers } from '../client/shared-informers.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { publishedControllers } from '../dialect/published-controllers.ts';
import { servingBundlePublisher } from '../dialect/signer-names.ts';
import { simulationNames } from '../dialect/simulation-names.ts';
import { multiCidrGate } from '../kinds/networking/ip-address.ts';
import { startBootstrapSigner } from './bootstrap-tokens/bootstrap-signer.ts';
import { startTokenCleaner } from './bootstrap-tokens/token-cleaner.ts';
import { startCertificateApproving } from './certificate-requests/approver.ts';
import { startCertificateRequestCleaner } from './certificate-requests/cleaner.ts';
import { startCertificateSigning } from './certificate-requests/signer.ts';
import { startClusterRoleAggregation } from './cluster-role-aggregation/cluster-role-aggregation.ts';
import type { ControllerContext, InformedContext } from './controller.ts';
import type { ControllerMetrics } from './controller-metrics.ts';
import { DefinedGroups } from './defined-groups.ts';
import { startGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { startRootCaPublisher } from './namespace-content/root-ca-publisher.ts';
import { startServiceAccountController } from './namespace-content/service-account.ts';
import { startNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { startPolicyStatus } from './policy-status/policy-status.ts';
import { startResourceQuota } from './resource-quota/resource-quota.ts';
import { startServiceAccountTokens } from './service-account-tokens/service-account-tokens.ts';
import { startServiceCidrs } from './service-cidrs/service-cidrs.ts';
import { startServingBundlePublisher } from './serving-bundle/serving-bundle-publisher.ts';
import { startClaimProtection } from './storage-protection/claim-protection.ts';
import { startVolumeProtection } from './storage-protection/volume-protection.ts';

/** Names that stand for several controllers: of what would run on nodes. */
const controllerGroups = ['workloads'] as const;
type ControllerGroup = (typeof controllerGroups)[number];

/** A controller, keyed by its kube-controller-manager name. */
interface ControllerEntry {
  /** Earlier names, which flags accept too. */
  readonly aliases: readonly string[];
  readonly help: string;
  /**
   * Its service account in the system namespace, as in kube-controller-manager. Default: the process's own identity.
   */
  readonly account?: string | ((dialect: Dialect) => string);
  /** Not part of `*`, as in kube-controller-manager: runs only if named. */
  readonly offByDefault?: true;
  /** A name for several controllers. These are not part of `*` either: run only if they or the group are named. */
  readonly group?: ControllerGroup;
  /** Feature gate without which it does not run, even if it is named. */
  readonly gate?: string;
  readonly start: (context: InformedContext) => Closable;
}

/** Starts a controller once its code is loaded, which servers without it do not pay for. */
function whenLoaded(
  load: () => Promise<(context: InformedContext) => Closable>,
): (context: InformedContext) => Closable {
  return (context) => {
    const running = new ClosableStack();
    load().then(
      (start) => {
        if (!running.isClosed) running.add(start(context));
      },
      (error: unknown) => context.logger.error('a controller cannot be loaded', { controller: context.name, error }),
    );
    return running;
  };
}

const entries = {
  'garbage-collector-controller': {
    aliases: ['garbagecollector', 'garbage-collector'],
    help: 'deletes objects whose owners are gone',
    account: 'generic-garbage-collector',
    start: startGarbageCollector,
  },
  'namespace-controller': {
    aliases: ['namespace'],
    help: 'empties namespaces that are being deleted',
    account: 'namespace-controller',
    start: startNamespaceLifecycle,
  },
  'resourcequota-controller': {
    aliases: ['resourcequota'],
    help: 'counts what the objects of namespaces with quotas use',
    account: 'resourcequota-controller',
    start: startResourceQuota,
  },
  'serviceaccount-controller': {
    aliases: ['serviceaccount'],
    help: 'makes the default service account of every namespace',
    account: 'service-account-controller',
    start: startServiceAccountController,
  },
  'serviceaccount-token-controller': {
    aliases: ['serviceaccount-token'],
    help: 'fills the secrets that ask for a token of a service account',
    start: startServiceAccountTokens,
  },
  'root-ca-certificate-publisher-controller': {
    aliases: ['root-ca-cert-publisher'],
    help: 'gives every namespace a config map with the authority of the API server',
    account: 'root-ca-cert-publisher',
    start: startRootCaPublisher,
  },
  [publishedControllers.servingBundlePublisher]: {
    aliases: ['serving-clustertrustbundle-publisher'],
    help: 'publishes the authority of the API server as a trust bundle, where these are served',
    account: servingBundlePublisher,
    start: startServingBundlePublisher,
  },
  'clusterrole-aggregation-controller': {
    aliases: ['clusterrole-aggregation'],
    help: 'gives cluster roles that aggregate others the rules of those',
    account: 'clusterrole-aggregation-controller',
    start: startClusterRoleAggregation,
  },
  'certificatesigningrequest-signing-controller': {
    aliases: ['csrsigning'],
    help: 'signs approved certificate signing requests',
    account: 'certificate-controller',
    start: startCertificateSigning,
  },
  'certificatesigningrequest-approving-controller': {
    aliases: ['csrapproving'],
    help: 'approves requests of node agents for client certificates',
    account: 'certificate-controller',
    start: startCertificateApproving,
  },
  'certificatesigningrequest-cleaner-controller': {
    aliases: ['csrcleaner'],
    help: 'deletes old certificate signing requests',
    account: 'certificate-controller',
    start: startCertificateRequestCleaner,
  },
  'validatingadmissionpolicy-status-controller': {
    aliases: [],
    help: 'checks the expressions of admission policies against the types that they match',
    account: 'validatingadmissionpolicy-status-controller',
    start: startPolicyStatus,
  },
  'persistentvolumeclaim-protection-controller': {
    aliases: ['pvc-protection'],
    help: 'lets claims that are being deleted go when no pod uses them',
    account: 'pvc-protection-controller',
    start: startClaimProtection,
  },
  'persistentvolume-protection-controller': {
    aliases: ['pv-protection'],
    help: 'lets volumes that are being deleted go when no claim is bound to them',
    account: 'pv-protection-controller',
    start: startVolumeProtection,
  },
  'service-cidr-controller': {
    aliases: [],
    help: 'calls ServiceCIDRs ready, and keeps them as long as services have addresses of them',
    account: 'service-cidrs-controller',
    gate: multiCidrGate,
    start: startServiceCidrs,
  },
  'bootstrap-signer-controller': {
    aliases: ['bootstrapsigner'],
    help: 'signs the connection data for joining nodes with the bootstrap tokens',
    account: 'bootstrap-signer',
    offByDefault: true,
    start: startBootstrapSigner,
  },
  'token-cleaner-controller': {
    aliases: ['tokencleaner'],
    help: 'deletes bootstrap tokens that have expired',
    account: 'token-cleaner',
    offByDefault: true,
    start: startTokenCleaner,
  },
  'deployment-controller': {
    aliases: ['deployment'],
    help: 'rolls out the templates of deployments by replica sets',
    account: 'deployment-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/deployment/deployment.ts')).startDeployments),
  },
  'daemonset-controller': {
    aliases: ['daemonset'],
    help: 'keeps a pod of each daemon set on every node where it may run',
    account: 'daemon-set-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/daemon-set/daemon-set.ts')).startDaemonSets),
  },
  'replicaset-controller': {
    aliases: ['replicaset'],
    help: 'keeps the pods of replica sets',
    account: 'replicaset-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/replica-set.ts')).startReplicaSets),
  },
  'replicationcontroller-controller': {
    aliases: ['replicationcontroller'],
    help: 'keeps the pods of replication controllers',
    account: 'replication-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/replication-controller.ts')).startReplicationControllers),
  },
  'statefulset-controller': {
    aliases: ['statefulset'],
    help: 'keeps the numbered pods of stateful sets, and their claims',
    account: 'statefulset-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/stateful-set/stateful-set.ts')).startStatefulSets),
  },
  'endpoints-controller': {
    aliases: ['endpoint'],
    help: 'keeps the endpoints of services',
    account: 'endpoint-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/endpoints/endpoints.ts')).startEndpoints),
  },
  'endpointslice-controller': {
    aliases: ['endpointslice'],
    help: 'keeps the endpoint slices of services',
    account: 'endpointslice-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/endpoints/endpoint-slices.ts')).startEndpointSlices),
  },
  'disruption-controller': {
    aliases: ['disruption'],
    help: 'says in disruption budgets how many pods may be evicted',
    account: 'disruption-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/disruption/disruption.ts')).startDisruption),
  },
  'job-controller': {
    aliases: ['job'],
    help: 'runs the pods of jobs until they are done',
    account: 'job-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/job/job.ts')).startJobs),
  },
  'cronjob-controller': {
    aliases: ['cronjob'],
    help: 'makes jobs on the schedules of cron jobs',
    account: 'cronjob-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/cron-job/cron-job.ts')).startCronJobs),
  },
  'ttl-after-finished-controller': {
    aliases: ['ttl-after-finished'],
    help: 'deletes finished jobs when their time has come',
    account: 'ttl-after-finished-controller',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/ttl-after-finished.ts')).startTtlAfterFinished),
  },
  'pod-garbage-collector-controller': {
    aliases: ['podgc'],
    help: 'removes pods that no node will',
    account: 'pod-garbage-collector',
    group: 'workloads',
    start: whenLoaded(async () => (await import('./workloads/pod-garbage-collector.ts')).startPodGarbageCollector),
  },
  'simulated-nodes': {
    aliases: [],
    help: 'registers nodes that run nothing, and takes pods on them through their phases',
    account: simulationNames.account,
    offByDefault: true,
    start: whenLoaded(async () => (await import('./simulated-nodes/simulated-nodes.ts')).startSimulatedNodes),
  },
} as const satisfies Readonly<Record<string, ControllerEntry>>;

export type ControllerName = keyof typeof entries;

export const controllerNames = Object.keys(entries) as ControllerName[];

/** True if the controller is not part of `*`. */
export const isOffByDefault = (name: ControllerName): boolean => {
  const { offByDefault, group }: ControllerEntry = entries[name];
  return offByDefault === true || group !== undefined;
};

/** One-line description of a controller. */
export const describeController = (name: ControllerName): string => entries[name].help;

/**
 * The controllers selected by a list of `name`, `-name`, groups for all that are in them and not named, and `*` for all that are
 * not named and on by default. The first match wins. Throws an Error that quotes an item naming no controller.
 */
export function chooseControllers(items: readonly string[]): readonly ControllerName[] {
  const chosen = new Map<ControllerName, boolean>();
  for (const item of items) {
    if (item === '*' || isGroup(item)) continue;
    const name = nameOf(item.replace(/^-/, ''));
    if (!name) {
      const groups = controllerGroups.join(', ');
      const known = `${controllerNames.join(', ')}; and these names of several: ${groups}`;
      throw new Error(`${JSON.stringify(item)} is no controller; there are ${known}`);
    }
    if (!chosen.has(name)) chosen.set(name, !item.startsWith('-'));
  }
  const isImplied = (name: ControllerName): boolean => {
    const { group }: ControllerEntry = entries[name];
    return group === undefined ? items.includes('*') && !isOffByDefault(name) : items.includes(group);
  };
  return controllerNames.filter((name) => chosen.get(name) ?? isImplied(name));
}

const isGroup = (text: string): text is ControllerGroup => controllerGroups.some((group) => group === text);

const nameOf = (text: string): ControllerName | undefined =>
  controllerNames.find((name) => {
    const aliases: readonly string[] = entries[name].aliases;
    return name === text || aliases.includes(text);
  });

/** Dependencies of the controllers. */
export interface ControllersContext
  extends Omit<
    ControllerContext,
    'name' | 'queueMetrics' | 'jobMetrics' | 'rootCaPublished' | 'trustBundlePublished' | 'reader' | 'events'
  > {
  readonly metrics?: ControllerMetrics | undefined;
  /** Enabled feature gates. Default: none. */
  readonly features?: ReadonlySet<string>;
  /** Creates a client for a service account of the system namespace. Default: all controllers use `client`. */
  readonly clientOf?: (account: string) => ApiClient;
}

/**
 * Starts controllers, each in a turn of the event loop of its own: it begins with requests, and others wait for a server that has
 * become ready. Closing the result stops them and aborts their requests.
 */
export function startControllers(names: readonly ControllerName[], context: ControllersContext): Closable {
  const { client: reader, clientOf, metrics, features, ...rest } = context;
  const observed = {
    queueMetrics: metrics?.queues,
    jobMetrics: metrics?.jobs,
    rootCaPublished: metrics?.rootCaPublished,
    trustBundlePublished: metrics?.trustBundlePublished,
  };
  const running = new ClosableStack();
  const informers = running.add(new SharedInformers({ ...rest, client: reader }));
  const onGroupsChanged = rest.onGroupsChanged ?? definedGroups(context, running);
  const startOne = (name: ControllerName): void => {
    const { account, gate, start }: ControllerEntry = entries[name];
    if (gate !== undefined && !features?.has(gate)) return;
    const own =
      account === undefined ? undefined : clientOf?.(typeof account === 'string' ? account : account(rest.dialect));
    const client = own ?? reader;
    const events = running.add(new ApiEventRecorder({ ...rest, client, component: name }));
    running.add(start({ ...rest, name, ...observed, onGroupsChanged, client, reader, informers, events }));
    if (metrics) running.add(metrics.runs(name));
  };
  inOrder(names, startOne, running);
  return running;
}

/** Calls a function for each name, one in a turn, until all were or the stack is closed. */
function inOrder(
  [name, ...later]: readonly ControllerName[],
  start: (name: ControllerName) => void,
  running: ClosableStack,
): void {
  if (name === undefined) return;
  inOwnTurn(() => {
    if (running.isClosed) return;
    start(name);
    inOrder(later, start, running);
  }, running);
}

/** What another process serves changes with its definitions of custom resources. */
function definedGroups(
  context: ControllersContext,
  running: ClosableStack,
): NonNullable<ControllerContext['onGroupsChanged']> {
  const groups = running.add(new DefinedGroups(context));
  return (listener) => groups.onChange(listener);
}
