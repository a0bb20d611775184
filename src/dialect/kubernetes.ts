import type { Dialect } from './dialect.ts';

/** The names that kubectl and client-go have compiled in. */
export const kubernetes: Dialect = {
  name: 'kubernetes',
  group: (short) => (short === '' || unsuffixed.has(short) ? short : `${short}.k8s.io`),
  groupSuffix: '.k8s.io',
  domain: 'kubernetes.io',
  protectedDomains: ['k8s.io', 'kubernetes.io'],
  namespaces: { system: 'kube-system', public: 'kube-public', nodeLease: 'kube-node-lease' },
  tableGroups: ['meta.k8s.io', 'meta.orch.io'],
  protobufMediaType: 'application/vnd.kubernetes.protobuf',
  openapiPrefix: 'io.k8s',
  openapiExtension: 'kubernetes',
  initialEventsEndAnnotation: 'k8s.io/initial-events-end',
  initialEventsListAnnotation: 'kubernetes.io/initial-events-list-blueprint',
  deprecatedAuditAnnotation: 'k8s.io/deprecated',
  removedReleaseAuditAnnotation: 'k8s.io/removed-release',
  rootCaConfigMap: 'kube-root-ca.crt',
  tokenVolume: 'kube-api-access',
  apiServer: 'kube-apiserver',
  controllerManager: 'kube-controller-manager',
  credentialPluginVariable: 'KUBERNETES_EXEC_INFO',
  tokenIssuer: 'https://kubernetes.default.svc.cluster.local',
  clusterInfoKey: 'secret part',
  nodeBootstrappersGroup: 'system:bootstrappers:kubeadm:default-node-token',
  commandLineClient: 'kubectl',
  lastAppliedAnnotation: 'kubectl.kubernetes.io/last-applied-configuration',
  encryptedPrefix: 'k8s:enc:',
  storeHealthCheck: 'etcd',
  flowHeaders: { level: 'x-kubernetes-pf-prioritylevel-uid', schema: 'x-kubernetes-pf-flowschema-uid' },
  title: 'Kubernetes',
  gitVersion: 'v1.32.0+orch',
};

/** Groups without a domain suffix. */
const unsuffixed = new Set(['apps', 'batch', 'policy', 'autoscaling', 'extensions']);
