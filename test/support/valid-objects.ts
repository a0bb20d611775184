import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';

/**
 * Objects that a server accepts, by kind, without type and metadata: the first has little more than what is required, a second
 * one many fields. Names of the dialect `orch`.
 */

type Content = Readonly<Record<string, unknown>>;

const time = '2024-01-02T03:04:05Z';
const micros = '2024-01-02T03:04:05.000000Z';
const selector = { matchLabels: { app: 'x' } };
const labels = { app: 'x' };

const podTemplate = (spec: Content = {}, container: Content = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'img:1', ...container }], ...spec },
});

const ended = podTemplate({ restartPolicy: 'Never' });

/** Fields of pods whose forms differ: numbers and names, amounts, times, maps, absent and empty parts. */
const rich = podTemplate(
  {
    volumes: [
      { name: 'v', emptyDir: { sizeLimit: '1Gi' } },
      { name: 'e', emptyDir: {} },
      {
        name: 'p',
        projected: { sources: [{ configMap: { name: 'a', items: [{ key: 'k', path: 'p', mode: 256 }] } }] },
      },
    ],
    tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' }],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 7, podAffinityTerm: { topologyKey: 'zone', labelSelector: { matchLabels: { a: 'b' } } } },
        ],
      },
    },
  },
  {
    env: [
      { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'B', value: '' },
    ],
    ports: [{ name: 'http', containerPort: 8080 }],
    resources: { limits: { cpu: '500m', memory: '1.5Gi' }, requests: { memory: '64Mi' } },
    livenessProbe: { httpGet: { port: 'http', httpHeaders: [{ name: 'X', value: 'y' }] } },
    readinessProbe: { grpc: { port: 9 } },
    securityContext: { runAsUser: 0, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 's' }],
  },
);

const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const webhook = {
  ...{ name: 'a.example.com', clientConfig: { url: 'https://a.example.com/' }, sideEffects: 'None' },
  ...{ admissionReviewVersions: ['v1'], objectSelector: selector },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothing'] }],
};
const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothing'] }];
const service = { service: { name: 's', port: { number: 80 } } };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const device = { requests: [{ name: 'r', deviceClassName: 'c' }] };
const indexed = {
  ...{ completions: 5, parallelism: 2, completionMode: 'Indexed', backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
  ttlSecondsAfterFinished: 0,
  podFailurePolicy: {
    rules: [
      { action: 'FailIndex', onExitCodes: { containerName: 'c', operator: 'In', values: [1, 42] } },
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ],
  },
  successPolicy: { rules: [{ succeededIndexes: '0-2,4', succeededCount: 1 }] },
};
const event = { type: 'Normal', reason: 'R', eventTime: null };
const involved = { kind: 'Pod', name: 'p', namespace: 'default' };

export const validObjects: Readonly<Record<string, readonly Content[]>> = {
  Binding: [],
  CSIDriver: [{ spec: {} }, { spec: { tokenRequests: [{ audience: '' }], seLinuxMount: true } }],
  CSINode: [{ spec: { drivers: [] } }, { spec: { drivers: [{ name: 'd', nodeID: 'n', allocatable: { count: 0 } }] } }],
  CSIStorageCapacity: [{ storageClassName: 'c' }, { storageClassName: 'c', capacity: '1.5Gi', nodeTopology: selector }],
  CertificateSigningRequest: [
    {
      spec: {
        ...{ signerName: 'example.com/any', usages: ['client auth'], expirationSeconds: 600 },
        request: Buffer.from(requestToPem(makeRequest())).toString('base64'),
      },
    },
  ],
  ClusterRole: [{ rules }, { aggregationRule: { clusterRoleSelectors: [selector] } }],
  ClusterRoleBinding: [{ roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'view' } }],
  ConfigMap: [{}, { data: { a: '' }, binaryData: { b: 'AA==' }, immutable: false }],
  ControllerRevision: [
    { revision: 0, data: {} },
    { revision: 3, data: { spec: { a: 1, b: null } } },
  ],
  CronJob: [
    { spec: { schedule: '@daily', jobTemplate: { spec: { template: ended } } } },
    {
      spec: {
        ...{ schedule: '*/5 * * * *', timeZone: 'Europe/Rome', suspend: true, startingDeadlineSeconds: 0 },
        jobTemplate: { metadata: { labels }, spec: { ...indexed, template: ended } },
      },
    },
  ],
  DaemonSet: [{ spec: { selector, template: podTemplate() } }, { spec: { selector, template: rich } }],
  Deployment: [
    { spec: { selector, template: podTemplate() } },
    {
      spec: {
        selector,
        replicas: 0,
        template: rich,
        strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: '10%' } },
      },
    },
  ],
  DeviceClass: [{ spec: {} }, { spec: { selectors: [{ cel: { expression: 'device.driver == "d"' } }] } }],
  EndpointSlice: [
    { addressType: 'IPv4', endpoints: [] },
    {
      addressType: 'IPv6',
      endpoints: [{ addresses: ['2001:db8::1'], conditions: { ready: false }, deprecatedTopology: { a: 'b' } }],
      ports: [{ name: '', port: 80 }],
    },
  ],
  Endpoints: [{}, { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }] }],
  Event: [
    { ...event, involvedObject: involved, firstTimestamp: time, count: 2 },
    {
      ...{ ...event, eventTime: micros, involvedObject: involved, series: { count: 2, lastObservedTime: micros } },
      ...{ action: 'A', reportingComponent: 'example.com/c', reportingInstance: 'i' },
    },
  ],
  'Event events': [
    {
      ...{ ...event, eventTime: micros, regarding: involved, action: 'A' },
      ...{ reportingController: 'example.com/c', reportingInstance: 'i' },
    },
  ],
  FlowSchema: [
    { spec: { priorityLevelConfiguration: { name: 'global-default' } } },
    {
      spec: {
        ...{ priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 9000 },
        rules: [
          {
            subjects: [{ kind: 'Group', group: { name: '*' } }],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/healthz'] }],
          },
        ],
      },
    },
  ],
  HorizontalPodAutoscaler: [
    { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 3 } },
  ],
  IPAddress: [],
  Ingress: [
    { spec: { defaultBackend: service } },
    { spec: { rules: [{ host: 'a.b', http: { paths: [{ path: '/', pathType: 'Prefix', backend: service }] } }] } },
  ],
  IngressClass: [
    { spec: { controller: 'a.b/c' } },
    { spec: { controller: 'a.b/c', parameters: { kind: 'P', name: 'p' } } },
  ],
  Job: [{ spec: { template: ended } }, { spec: { ...indexed, template: { ...ended, metadata: {} } } }],
  Lease: [{}, { spec: { holderIdentity: 'h', leaseDurationSeconds: 1, renewTime: micros } }],
  LeaseCandidate: [
    {
      spec: {
        ...{ leaseName: 'l', binaryVersion: '1.32.0', emulationVersion: '1.32.0', strategy: 'OldestEmulationVersion' },
        ...{ pingTime: micros, renewTime: micros },
      },
    },
  ],
  LimitRange: [
    { spec: { limits: [] } },
    {
      spec: {
        limits: [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '1' }, defaultRequest: { cpu: '500m' } }],
      },
    },
  ],
  MutatingAdmissionPolicy: [
    {
      spec: {
        ...{ matchConstraints: { resourceRules }, reinvocationPolicy: 'Never' },
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } }],
      },
    },
  ],
  MutatingAdmissionPolicyBinding: [{ spec: { policyName: 'p' } }],
  MutatingWebhookConfiguration: [{}, { webhooks: [webhook] }],
  Namespace: [{}, { spec: { finalizers: ['orch'] } }],
  NetworkPolicy: [
    { spec: { podSelector: {} } },
    { spec: { podSelector: selector, ingress: [{ ports: [{ port: 'a', protocol: 'TCP' }, {}] }, {}], egress: [{}] } },
  ],
  Node: [
    {},
    { spec: { podCIDR: '192.0.2.0/24', podCIDRs: ['192.0.2.0/24'], taints: [{ key: 'k', effect: 'NoExecute' }] } },
  ],
  PersistentVolume: [
    {
      spec: {
        ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
        csi: { driver: 'd', volumeHandle: 'h', volumeAttributes: { a: '' } },
      },
    },
  ],
  PersistentVolumeClaim: [{ spec: claim }, { spec: { ...claim, storageClassName: '', selector } }],
  Pod: [{ spec: podTemplate().spec }, { spec: rich.spec }],
  PodDisruptionBudget: [{ spec: { minAvailable: 0, selector } }, { spec: { maxUnavailable: '30%', selector } }],
  PodTemplate: [{ template: podTemplate() }, { template: rich }],
  PriorityClass: [{ value: 0 }, { value: -7, globalDefault: false, description: '', preemptionPolicy: 'Never' }],
  PriorityLevelConfiguration: [
    { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' }, nominalConcurrencyShares: 0 } } },
    { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
  ],
  ReplicaSet: [{ spec: { selector, template: podTemplate() } }, { spec: { selector, replicas: 0, template: rich } }],
  ReplicationController: [{ spec: { template: podTemplate() } }, { spec: { replicas: 0, template: rich } }],
  ResourceClaim: [{ spec: {} }, { spec: { devices: device } }],
  ResourceClaimTemplate: [{ spec: { spec: {} } }, { spec: { metadata: { labels }, spec: { devices: device } } }],
  ResourceQuota: [{}, { spec: { hard: { 'count/x.example.com': '5' } } }],
  ResourceSlice: [{ spec: { driver: 'd', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } } }],
  Role: [{}, { rules }],
  RoleBinding: [{ roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'Role', name: 'r' } }],
  RuntimeClass: [{ handler: 'h' }, { handler: 'h', overhead: { podFixed: { cpu: '250m' } }, scheduling: {} }],
  Secret: [{}, { data: { a: '' }, type: 'example.com/any', stringData: { b: 'c' } }],
  Service: [{ spec: { ports: [{ port: 80 }] } }],
  ServiceAccount: [{}, { automountServiceAccountToken: false, secrets: [{ name: 's' }] }],
  ServiceCIDR: [],
  StatefulSet: [
    { spec: { serviceName: 's', selector, template: podTemplate() } },
    {
      spec: {
        serviceName: 's',
        selector,
        template: rich,
        volumeClaimTemplates: [{ metadata: { name: 'c' }, spec: claim }],
      },
    },
  ],
  StorageClass: [{ provisioner: 'p' }, { provisioner: 'p', parameters: { a: '' }, allowVolumeExpansion: false }],
  StorageVersion: [{ spec: {} }],
  StorageVersionMigration: [{ spec: { resource: { group: 'apps', version: 'v1', resource: 'deployments' } } }],
  ValidatingAdmissionPolicy: [{ spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'true' }] } }],
  ValidatingAdmissionPolicyBinding: [{ spec: { policyName: 'p', validationActions: ['Deny'] } }],
  ValidatingWebhookConfiguration: [{}, { webhooks: [webhook] }],
  VolumeAttachment: [{ spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'pv' } } }],
  VolumeAttributesClass: [{ driverName: 'd', parameters: { a: 'b' } }],
};
