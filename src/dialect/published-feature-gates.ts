/** Lets nodes request node certificates in any name. Deprecated: it is there for old provisioning programs. */
export const insecureNodeRequests = 'AllowInsecureKubeletCertificateSigningRequests';

/** Lets nodes request tokens for those audiences only that their pods name. */
export const nodeAudiences = 'ServiceAccountNodeAudienceRestriction';

interface PublishedGate {
  /** The only value that may be given: what the gate switched is stable, or gone. */
  readonly lockedTo?: boolean;
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const free = words(`
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds
  AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AnyVolumeDataSource APIResponseCompression
  APIServerIdentity APIServerTracing APIServingWithRoutine AuthorizeNodeWithSelectors AuthorizeWithSelectors
  BtreeWatchCache CBORServingAndStorage ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWebhook
  ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode
  ConsistentListFromCache ContainerCheckpoint ContextualLogging CoordinatedLeaderElection CPUCFSQuotaPeriod
  CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDValidationRatcheting
  CrossNamespaceVolumeDataSource CSIMigrationPortworx CSIVolumeHealth DisableAllocatorDualWrite
  DisableNodeKubeProxyVersion DRAAdminAccess DRAControlPlaneController DRAResourceClaimDeviceStatus
  DynamicResourceAllocation EventedPLEG ExecProbeTimeout ExternalServiceAccountTokenSigner GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HonorPVReclaimPolicy HPAScaleToZero ImageMaximumGCAge ImageVolume
  InformerResourceVersion InPlacePodVerticalScaling InPlacePodVerticalScalingAllocatedStatus
  InPlacePodVerticalScalingExclusiveCPUs InTreePluginPortworxUnregister JobBackoffLimitPerIndex JobManagedBy
  JobPodReplacementPolicy JobSuccessPolicy KMSv1 KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax
  KubeletFineGrainedAuthz KubeletInUserNamespace KubeletPodResourcesDynamicResources KubeletPodResourcesGet
  KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC KubeletTracing
  LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions LoggingBetaOptions MatchLabelKeysInPodAffinity
  MatchLabelKeysInPodTopologySpread MaxUnavailableStatefulSet MemoryQoS MultiCIDRServiceAllocator
  MutatingAdmissionPolicy NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
  OpenAPIEnums OrderedNamespaceDeletion PodAndContainerStatsFromCRI PodDeletionCost PodLevelResources
  PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodLogsQuerySplitStreams
  PodReadyToStartContainersCondition PortForwardWebsockets ProcMountType QOSReserved RecoverVolumeExpansionFailure
  RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
  ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization ResourceHealthStatus
  RotateKubeletServerCertificate RuntimeClassInImageCriAPI SchedulerAsyncPreemption SchedulerQueueingHints
  SELinuxChangePolicy SELinuxMount SELinuxMountReadWriteOncePod SeparateCacheWatchRPC
  SeparateTaintEvictionController ServiceAccountNodeAudienceRestriction ServiceAccountTokenNodeBinding
  ServiceTrafficDistribution SidecarContainers StorageNamespaceIndex StorageVersionAPI StorageVersionHash
  StorageVersionMigrator StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog
  TopologyAwareHints TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions
  TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  UserNamespacesPodSecurityStandards UserNamespacesSupport VolumeAttributesClass VolumeCapacityPriority
  WatchCacheInitializationPostStartHook WatchFromStorageWithoutResourceVersion WatchList WatchListClient
  WindowsCPUAndMemoryAffinity WindowsGracefulNodeShutdown WindowsHostNetwork WinDSR WinOverlay
`);

const lockedOn = words(`
  AdmissionWebhookMatchConditions AggregatedDiscoveryEndpoint APIListChunking AppArmor AppArmorFields
  CloudDualStackNodeIPs ComponentSLIs CPUManager CronJobsScheduledAnnotation CustomResourceFieldSelectors
  DevicePluginCDIDevices DisableCloudProviders DisableKubeletCloudCredentialProviders EfficientWatchResumption
  ElasticIndexedJob HPAContainerMetrics JobPodFailurePolicy KubeProxyDrainingTerminatingNodes
  LegacyServiceAccountTokenCleanUp LoadBalancerIPMode LogarithmicScaleDown MemoryManager
  MinDomainsInPodTopologySpread NewVolumeManagerReconstruction NodeOutOfServiceVolumeDetach
  PDBUnhealthyPodEvictionPolicy PersistentVolumeLastPhaseTransitionTime PodDisruptionConditions PodHostIPs
  PodIndexLabel PodSchedulingReadiness RemainingItemCount RetryGenerateName ServerSideApply
  ServerSideFieldValidation ServiceAccountTokenJTI ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo SizeMemoryBackedVolumes StableLoadBalancerNodeSet StatefulSetAutoDeletePVC
  StatefulSetStartOrdinal StrictCostEnforcementForVAP StrictCostEnforcementForWebhooks
  StructuredAuthorizationConfiguration ValidatingAdmissionPolicy WatchBookmark ZeroLimitedNominalConcurrencyShares
`);

const lockedOff = ['AllowServiceLBStatusOnNonLB'];

const gate = (names: readonly string[], value: PublishedGate) => names.map((name) => [name, value] as const);

/** Every feature gate of published programs of version 1.32, those in their last release included. */
export const publishedFeatureGates: ReadonlyMap<string, PublishedGate> = new Map([
  ...gate(free, {}),
  ...gate(lockedOn, { lockedTo: true }),
  ...gate(lockedOff, { lockedTo: false }),
]);
