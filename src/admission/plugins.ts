/**
 * The admission plugins by their Kubernetes names, in execution order, and whether they are enabled by default. The
 * order in the flags does not matter.
 */
const defaults = {
  NamespaceAutoProvision: false,
  NamespaceLifecycle: true,
  NamespaceExists: false,
  LimitPodHardAntiAffinityTopology: false,
  LimitRanger: true,
  ServiceAccount: true,
  // Disabled by default in kube-apiserver. Enabled here because the Node authorizer, also a default, does not check the
  // content of writes.
  NodeRestriction: true,
  TaintNodesByCondition: true,
  AlwaysPullImages: false,
  PodSecurity: true,
  PodNodeSelector: false,
  Priority: true,
  DefaultTolerationSeconds: true,
  PodTolerationRestriction: false,
  EventRateLimit: false,
  ExtendedResourceToleration: false,
  DefaultStorageClass: true,
  StorageObjectInUseProtection: true,
  OwnerReferencesPermissionEnforcement: false,
  PersistentVolumeClaimResize: true,
  RuntimeClass: true,
  CertificateApproval: true,
  CertificateSigning: true,
  ClusterTrustBundleAttest: true,
  CertificateSubjectRestriction: true,
  DefaultIngressClass: true,
  DenyServiceExternalIPs: false,
  // Behind all that the server does by itself.
  // Does nothing unless the feature gate of this name is on, since there are no policies then.
  MutatingAdmissionPolicy: true,
  MutatingAdmissionWebhook: true,
  ValidatingAdmissionPolicy: true,
  ValidatingAdmissionWebhook: true,
  // Last of all: what is charged is not given back.
  ResourceQuota: true,
} as const;

export type PluginName = keyof typeof defaults;

/** In execution order. */
export const pluginNames = Object.keys(defaults) as PluginName[];

export const defaultPlugins: readonly PluginName[] = pluginNames.filter((name) => defaults[name]);

/** The enabled plugins, in execution order. Callers check that none is both enabled and disabled. */
export const enabledPlugins = ({
  enable,
  disable,
}: {
  readonly enable: readonly PluginName[];
  readonly disable: readonly PluginName[];
}): readonly PluginName[] =>
  pluginNames.filter((name) => (defaults[name] && !disable.includes(name)) || enable.includes(name));
