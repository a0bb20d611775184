import type { Dialect } from './dialect.ts';

/** The neutral names of spec.md; the default dialect. */
export const orch: Dialect = {
  name: 'orch',
  group: (short) => (short === '' || unsuffixed.has(short) ? short : `${short}.orch.io`),
  groupSuffix: '.orch.io',
  domain: 'orch.io',
  protectedDomains: ['orch.io'],
  namespaces: { system: 'orch-system', public: 'orch-public', nodeLease: 'orch-node-lease' },
  tableGroups: ['meta.orch.io', 'meta.k8s.io'],
  protobufMediaType: 'application/vnd.orch.protobuf',
  openapiPrefix: 'io.orch',
  openapiExtension: 'kubernetes',
  initialEventsEndAnnotation: 'orch.io/initial-events-end',
  initialEventsListAnnotation: 'orch.io/initial-events-list-blueprint',
  deprecatedAuditAnnotation: 'orch.io/deprecated',
  removedReleaseAuditAnnotation: 'orch.io/removed-release',
  rootCaConfigMap: 'orch-root-ca.crt',
  tokenVolume: 'orch-api-access',
  apiServer: 'orch',
  controllerManager: 'orch-controller-manager',
  credentialPluginVariable: 'ORCH_EXEC_INFO',
  tokenIssuer: 'https://orch.default.svc.cluster.local',
  clusterInfoKey: 'whole token',
  nodeBootstrappersGroup: 'system:bootstrappers:default-node-token',
  commandLineClient: 'kubectl',
  lastAppliedAnnotation: 'kubectl.kubernetes.io/last-applied-configuration',
  encryptedPrefix: 'orch:enc:',
  storeHealthCheck: 'store',
  flowHeaders: { level: 'x-orch-pf-prioritylevel-uid', schema: 'x-orch-pf-flowschema-uid' },
  title: 'orch',
  gitVersion: 'v1.32.0+orch',
};

/** Groups without a domain suffix. */
const unsuffixed = new Set(['apps', 'batch', 'policy', 'autoscaling', 'extensions']);
