import type { Metrics } from '../../base/metrics.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { insecureNodeRequests, nodeAudiences } from '../../dialect/published-feature-gates.ts';

/** A gate of `--feature-gates`: default and maturity (spec section 9). */
export interface FeatureGate {
  readonly default: boolean;
  readonly stage: 'alpha' | 'beta' | 'stable' | 'deprecated';
  /** The gate is no longer operational: it cannot be set to another value than its default. */
  readonly locked?: true;
  readonly help: string;
}

/** A feature that every server has by now. */
const always = (help: string) => ({ default: true, stage: 'stable', locked: true, help }) as const;

/** Every gate of this server: those with an effect, and those of features that it has and that were once behind a gate. */
export const featureGates = {
  AllowUnsafeMalformedObjectDeletion: {
    default: false,
    stage: 'alpha',
    help: 'remove objects that cannot be read from the store, where a deletion asks for it (spec section 3.2)',
  },
  APIResponseCompression: {
    default: true,
    stage: 'beta',
    help: 'gzip answers of GET and LIST where the client accepts it (spec section 4.3)',
  },
  APIServerTracing: {
    default: true,
    stage: 'beta',
    help: 'trace requests as --tracing-config-file says',
  },
  CBORServingAndStorage: {
    default: false,
    stage: 'alpha',
    help: 'read and write CBOR where the client asks for it (spec section 4.3); storage stays as it is',
  },
  ClusterTrustBundleProjection: {
    default: false,
    stage: 'alpha',
    help: 'volumes with the certificates of trust bundles (KEP-3257)',
  },
  CoordinatedLeaderElection: {
    default: false,
    stage: 'alpha',
    help: 'leases that name a strategy by which their holder is picked (KEP-4355)',
  },
  CrossNamespaceVolumeDataSource: {
    default: false,
    stage: 'alpha',
    help: 'claims that are filled from objects of other namespaces (KEP-3294)',
  },
  DRAAdminAccess: {
    default: false,
    stage: 'alpha',
    help: 'requests of resource claims for devices that others use (KEP-5018)',
  },
  DRAResourceClaimDeviceStatus: {
    default: false,
    stage: 'alpha',
    help: 'what drivers tell of allocated devices (KEP-4817)',
  },
  DynamicResourceAllocation: {
    default: false,
    stage: 'beta',
    help: 'pods that name resource claims (KEP-4381); --runtime-config serves the claims themselves',
  },
  HPAScaleToZero: {
    default: false,
    stage: 'alpha',
    help: 'autoscalers by metrics of objects and of others may have no replicas (KEP-2021)',
  },
  ImageVolume: {
    default: false,
    stage: 'alpha',
    help: 'volumes with the content of an image (KEP-4639)',
  },
  InPlacePodVerticalScaling: {
    default: false,
    stage: 'alpha',
    help: 'containers that say whether a change of a resource restarts them, and which they have (KEP-1287)',
  },
  InPlacePodVerticalScalingAllocatedStatus: {
    default: false,
    stage: 'alpha',
    help: 'statuses that say which resources the node has set aside for a container (KEP-1287)',
  },
  MaxUnavailableStatefulSet: {
    default: false,
    stage: 'alpha',
    help: 'stateful sets that replace several pods at a time (KEP-961)',
  },
  MultiCIDRServiceAllocator: {
    default: false,
    stage: 'beta',
    help: 'addresses of services from ServiceCIDRs, and an IPAddress for each (KEP-1880), where --runtime-config serves them',
  },
  MutatingAdmissionPolicy: {
    default: false,
    stage: 'alpha',
    help: 'policies that change objects, where --runtime-config serves them (KEP-3962)',
  },
  PodLevelResources: {
    default: false,
    stage: 'alpha',
    help: 'resources of a pod as a whole (KEP-2837)',
  },
  PodLogsQuerySplitStreams: {
    default: false,
    stage: 'alpha',
    help: 'show the standard output or the standard error of a log alone (KEP-3288)',
  },
  ProcMountType: {
    default: false,
    stage: 'beta',
    help: 'containers that see the process file system unmasked (KEP-4265)',
  },
  RemoteRequestHeaderUID: {
    default: false,
    stage: 'alpha',
    help: 'take the uid of a user from a proxy (--requestheader-uid-headers)',
  },
  ResourceHealthStatus: {
    default: false,
    stage: 'alpha',
    help: 'statuses that say whether devices of containers are healthy (KEP-4680)',
  },
  SELinuxChangePolicy: {
    default: false,
    stage: 'alpha',
    help: 'pods that say how volumes get their label (KEP-1710)',
  },
  SupplementalGroupsPolicy: {
    default: false,
    stage: 'alpha',
    help: 'pods that say which further groups their users have, and statuses that say so (KEP-3619)',
  },
  UserNamespacesSupport: {
    default: false,
    stage: 'beta',
    help: 'pods with user ids of their own (KEP-127)',
  },
  VolumeAttributesClass: {
    default: false,
    stage: 'beta',
    help: 'classes of volumes that can change (KEP-3751)',
  },
  [nodeAudiences]: {
    default: false,
    stage: 'beta',
    help: 'let nodes request tokens for those audiences only that their pods name',
  },
  AggregatedDiscoveryEndpoint: always('all groups in one discovery document'),
  APIListChunking: always('lists in pages'),
  ComponentSLIs: always('health checks as metrics at /metrics/slis'),
  EfficientWatchResumption: always('watches that resume where a former connection ended'),
  RemainingItemCount: always('the number of remaining items in pages of a list'),
  RetryGenerateName: always('another generated name where one is taken'),
  ServerSideApply: always('server-side apply'),
  ServerSideFieldValidation: always('unknown and duplicate fields are found'),
  ServiceAccountTokenJTI: always('an id in each token of a service account'),
  StructuredAuthorizationConfiguration: always('--authorization-config'),
  WatchBookmark: always('bookmarks of watches'),
  StructuredAuthenticationConfiguration: {
    default: true,
    stage: 'beta',
    help: 'read --authentication-config (spec section 5.5)',
  },
  WatchList: {
    default: true,
    stage: 'beta',
    help: 'start a watch with the objects that are there (sendInitialEvents, spec section 4.4)',
  },
  [insecureNodeRequests]: {
    default: false,
    stage: 'deprecated',
    help: 'let nodes request node certificates in any name',
  },
} as const satisfies Readonly<Record<string, FeatureGate>>;

/** The published gates of all features of a stage. */
export const stageGates = { AllAlpha: 'alpha', AllBeta: 'beta' } as const;
export type WholeStage = (typeof stageGates)[keyof typeof stageGates];

export type FeatureName = keyof typeof featureGates;
export type Features = Readonly<Record<FeatureName, boolean>>;

/** Names of the enabled features. */
export const namesOfEnabled = (features: Features): ReadonlySet<string> =>
  new Set(Object.entries(features).flatMap(([name, on]) => (on ? [name] : [])));

/** Default state of all gates. */
export const defaultFeatures: Features = Object.fromEntries(
  Object.entries(featureGates).map(([name, gate]) => [name, gate.default]),
) as Features;

/** Values of the label `stage`, as published. */
const stageLabels = { alpha: 'ALPHA', beta: 'BETA', stable: '', deprecated: 'DEPRECATED' } as const;

/** Shows every gate, and whether it is on; `whole`: the stages that were switched on as such. The name of the metric is the published one, with the dialect's prefix. */
export function featureMetrics(
  metrics: Metrics,
  dialect: Dialect,
  { features, whole }: { readonly features: Features; readonly whole: ReadonlySet<WholeStage> },
): void {
  const enabled = metrics.gauge({
    name: `${dialect.name}_feature_enabled`,
    common: true,
    stability: 'BETA',
    help: 'Feature gates by stage of their feature: 1 where it is on.',
    labels: ['name', 'stage'],
  });
  for (const [name, stage] of Object.entries(stageGates)) {
    enabled.set({ name, stage: stageLabels[stage] }, whole.has(stage) ? 1 : 0);
  }
  for (const [name, { stage }] of Object.entries(featureGates)) {
    enabled.set({ name, stage: stageLabels[stage] }, features[name as FeatureName] ? 1 : 0);
  }
}
