/** How published programs read the value of a flag. */
export type PublishedType =
  | 'bool'
  | 'int'
  | 'uint'
  | 'float'
  | 'duration'
  | 'string'
  | 'strings'
  | 'map'
  | 'gates'
  | 'ip'
  | 'quantity'
  | 'level'
  | 'versions';

const flags = <T extends PublishedType>(type: T, names: string): Readonly<Record<string, T>> =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, type] as const),
  );

const auditBackend = (name: 'log' | 'webhook') => ({
  ...flags('bool', `audit-${name}-batch-throttle-enable audit-${name}-truncate-enabled`),
  ...flags('duration', `audit-${name}-batch-max-wait`),
  ...flags('float', `audit-${name}-batch-throttle-qps`),
  ...flags(
    'int',
    `audit-${name}-batch-buffer-size audit-${name}-batch-max-size audit-${name}-batch-throttle-burst
     audit-${name}-truncate-max-batch-size audit-${name}-truncate-max-event-size`,
  ),
  ...flags('string', `audit-${name}-mode audit-${name}-version`),
});

/** Of every component: log, metrics, features. */
const components = {
  ...flags('bool', 'contention-profiling help log-json-split-stream log-text-split-stream profiling version'),
  ...flags('duration', 'log-flush-frequency'),
  ...flags('gates', 'feature-gates'),
  ...flags('int', 'v'),
  ...flags('level', 'vmodule'),
  ...flags('map', 'allow-metric-labels'),
  ...flags('quantity', 'log-json-info-buffer-size log-text-info-buffer-size'),
  ...flags(
    'string',
    'allow-metric-labels-manifest cloud-config cloud-provider logging-format show-hidden-metrics-for-version',
  ),
  ...flags('strings', 'disabled-metrics'),
  ...flags('versions', 'emulated-version'),
};

/** Of everything that listens. */
const serving = {
  ...flags('bool', 'disable-http2-serving permit-address-sharing permit-port-sharing'),
  ...flags('int', 'http2-max-streams-per-connection secure-port'),
  ...flags('ip', 'bind-address'),
  ...flags('string', 'cert-dir client-ca-file requestheader-client-ca-file tls-cert-file tls-min-version'),
  ...flags('string', 'tls-private-key-file tls-sni-cert-key'),
  ...flags(
    'strings',
    `requestheader-allowed-names requestheader-extra-headers-prefix requestheader-group-headers
     requestheader-uid-headers requestheader-username-headers tls-cipher-suites`,
  ),
};

/** Every flag of the published API server of version 1.32, the deprecated ones included. */
export const apiserverFlags: Readonly<Record<string, PublishedType>> = {
  ...components,
  ...serving,
  ...auditBackend('log'),
  ...auditBackend('webhook'),
  ...flags(
    'bool',
    `aggregator-reject-forwarding-redirect allow-privileged anonymous-auth audit-log-compress enable-aggregator-routing
     enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
     encryption-provider-config-automatic-reload service-account-extend-token-expiration service-account-lookup
     shutdown-send-retry-after watch-cache`,
  ),
  ...flags(
    'duration',
    `audit-webhook-batch-initial-backoff audit-webhook-initial-backoff authentication-token-webhook-cache-ttl
     authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
     coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period
     etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout
     etcd-readycheck-timeout event-ttl kubelet-timeout livez-grace-period request-timeout
     service-account-max-token-expiration shutdown-delay-duration shutdown-watch-termination-grace-period
     storage-initialization-timeout`,
  ),
  ...flags('float', 'goaway-chance'),
  ...flags(
    'int',
    `apiserver-count audit-log-maxage audit-log-maxbackup audit-log-maxsize default-not-ready-toleration-seconds
     default-unreachable-toleration-seconds default-watch-cache-size delete-collection-workers
     kubernetes-service-node-port lease-reuse-duration-seconds max-connection-bytes-per-sec
     max-mutating-requests-inflight max-requests-inflight min-request-timeout`,
  ),
  ...flags('ip', 'advertise-address'),
  ...flags('map', 'oidc-required-claim runtime-config'),
  ...flags(
    'string',
    `admission-control-config-file audit-log-format audit-log-path audit-policy-file audit-webhook-config-file
     authentication-config authentication-token-webhook-config-file authentication-token-webhook-version
     authorization-config authorization-policy-file authorization-webhook-config-file authorization-webhook-version
     debug-socket-path egress-selector-config-file encryption-provider-config endpoint-reconciler-type etcd-cafile
     etcd-certfile etcd-keyfile etcd-prefix external-hostname kubelet-certificate-authority kubelet-client-certificate
     kubelet-client-key oidc-ca-file oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url
     oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file
     proxy-client-cert-file proxy-client-key-file service-account-jwks-uri service-account-signing-endpoint
     service-account-signing-key-file service-cluster-ip-range service-node-port-range storage-backend
     storage-media-type token-auth-file tracing-config-file`,
  ),
  ...flags(
    'strings',
    `admission-control api-audiences authorization-mode cors-allowed-origins disable-admission-plugins
     enable-admission-plugins etcd-servers etcd-servers-overrides kubelet-preferred-address-types oidc-signing-algs
     service-account-issuer service-account-key-file strict-transport-security-directives watch-cache-sizes`,
  ),
  ...flags('uint', 'kubelet-port kubelet-read-only-port'),
};

/** Every flag of the published controller manager of version 1.32, the deprecated ones included. */
export const controllerManagerFlags: Readonly<Record<string, PublishedType>> = {
  ...components,
  ...serving,
  ...flags(
    'bool',
    `allocate-node-cidrs allow-untagged-cloud authentication-skip-lookup authentication-tolerate-lookup-failure
     configure-cloud-routes disable-attach-detach-reconcile-sync disable-force-detach-on-timeout
     enable-dynamic-provisioning enable-garbage-collector enable-hostpath-provisioner enable-leader-migration
     leader-elect use-service-account-credentials`,
  ),
  ...flags(
    'duration',
    `attach-detach-reconcile-sync-period authentication-token-webhook-cache-ttl
     authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl cluster-signing-duration
     controller-start-interval endpoint-updates-batch-period endpointslice-updates-batch-period
     horizontal-pod-autoscaler-cpu-initialization-period horizontal-pod-autoscaler-downscale-delay
     horizontal-pod-autoscaler-downscale-stabilization horizontal-pod-autoscaler-initial-readiness-delay
     horizontal-pod-autoscaler-sync-period horizontal-pod-autoscaler-upscale-delay leader-elect-lease-duration
     leader-elect-renew-deadline leader-elect-retry-period legacy-service-account-token-clean-up-period
     min-resync-period mirroring-endpointslice-updates-batch-period namespace-sync-period node-monitor-grace-period
     node-monitor-period node-startup-grace-period node-sync-period pvclaimbinder-sync-period
     resource-quota-sync-period route-reconciliation-period`,
  ),
  ...flags(
    'float',
    `deleting-pods-qps horizontal-pod-autoscaler-tolerance kube-api-qps node-eviction-rate
     secondary-node-eviction-rate unhealthy-zone-threshold`,
  ),
  ...flags(
    'int',
    `concurrent-cron-job-syncs concurrent-deployment-syncs concurrent-endpoint-syncs concurrent-ephemeralvolume-syncs
     concurrent-gc-syncs concurrent-horizontal-pod-autoscaler-syncs concurrent-job-syncs concurrent-namespace-syncs
     concurrent-rc-syncs concurrent-replicaset-syncs concurrent-resource-quota-syncs concurrent-service-endpoint-syncs
     concurrent-service-syncs concurrent-serviceaccount-token-syncs concurrent-statefulset-syncs
     concurrent-ttl-after-finished-syncs concurrent-validating-admission-policy-status-syncs deleting-pods-burst
     kube-api-burst large-cluster-size-threshold max-endpoints-per-slice mirroring-concurrent-service-endpoint-syncs
     mirroring-max-endpoints-per-subset node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6
     pv-recycler-increment-timeout-nfs pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs
     pv-recycler-timeout-increment-hostpath register-retry-count terminated-pod-gc-threshold`,
  ),
  ...flags(
    'string',
    `authentication-kubeconfig authorization-kubeconfig cidr-allocator-type cluster-cidr cluster-name
     cluster-signing-cert-file cluster-signing-key-file cluster-signing-kube-apiserver-client-cert-file
     cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file
     cluster-signing-kubelet-client-key-file cluster-signing-kubelet-serving-cert-file
     cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file
     cluster-signing-legacy-unknown-key-file external-cloud-volume-plugin flex-volume-plugin-dir kube-api-content-type
     kubeconfig leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace
     leader-migration-config master pv-recycler-pod-template-filepath-hostpath pv-recycler-pod-template-filepath-nfs
     root-ca-file service-account-private-key-file service-cluster-ip-range`,
  ),
  ...flags('strings', 'authorization-always-allow-paths controllers'),
};

/** Every admission plugin of version 1.32. */
export const publishedPlugins: readonly string[] = `
  AlwaysAdmit AlwaysDeny AlwaysPullImages CertificateApproval CertificateSigning CertificateSubjectRestriction
  ClusterTrustBundleAttest DefaultIngressClass DefaultStorageClass DefaultTolerationSeconds DenyServiceExternalIPs
  EventRateLimit ExtendedResourceToleration ImagePolicyWebhook LimitPodHardAntiAffinityTopology LimitRanger
  MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceAutoProvision NamespaceExists NamespaceLifecycle
  NodeRestriction OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize PodNodeSelector PodSecurity
  PodTolerationRestriction Priority ResourceQuota RuntimeClass ServiceAccount StorageObjectInUseProtection
  TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook`
  .trim()
  .split(/\s+/);
