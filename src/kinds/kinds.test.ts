import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';
import type { Kind } from './kind.ts';
import { kinds } from './kinds.ts';
import { deleteOptions } from './meta/delete-options.ts';
import { labelSelector } from './meta/label-selector.ts';
import { listMeta } from './meta/list-schema.ts';
import { status } from './meta/status.ts';
import { create } from './strategy-fixture.ts';

const all = kinds(orch);
const kindOf = (name: string): Kind => {
  const found = all.find(({ kind }) => kind === name);
  assert.ok(found, name);
  return found;
};

/** Every struct that can be reached from a schema. */
function structs(schema: Schema, found = new Set<StructSchema>()): Set<StructSchema> {
  if (schema.type === 'list') return structs(schema.items, found);
  if (schema.type === 'map') return structs(schema.values, found);
  if (schema.type !== 'struct' || found.has(schema)) return found;
  found.add(schema);
  for (const field of Object.values(schema.fields)) structs(schemaOf(field), found);
  return found;
}

const bodies = all.flatMap(({ subresources }) =>
  subresources.flatMap((subresource) => (subresource.type === 'action' ? [subresource.body.schema] : [])),
);
const roots = [...all.map(({ schema }) => schema), ...bodies, deleteOptions, labelSelector, listMeta, status];
const everyStruct = new Set(roots.flatMap((root) => [...structs(root)]));

test('kinds have the same fields in the same order, so that each look at one costs little', () => {
  const [first] = all;
  assert.ok(first);
  for (const kind of all) assert.deepEqual(Object.keys(kind), Object.keys(first), kind.kind);
});

test('kinds: names, groups, scopes and verbs', () => {
  const facts = all.map((kind) => [
    kind.version,
    kind.kind,
    kind.resource,
    kind.shortNames.join(),
    kind.scope,
    kind.subresources.map(({ name }) => name).join(),
    [kind.createOnUpdate, kind.unconditionalUpdate, kind.deleteReturnsObject, kind.generation].map(Number).join(''),
  ]);
  assert.deepEqual(facts, [
    ['v1', 'ConfigMap', 'configmaps', 'cm', 'Namespaced', '', '0100'],
    ['v1', 'Namespace', 'namespaces', 'ns', 'Cluster', 'status,finalize', '0110'],
    ['v1', 'Node', 'nodes', 'no', 'Cluster', 'status,proxy', '0100'],
    [
      'v1',
      'Pod',
      'pods',
      'po',
      'Namespaced',
      'status,ephemeralcontainers,binding,eviction,log,attach,exec,portforward,proxy',
      '0110',
    ],
    ['v1', 'Secret', 'secrets', '', 'Namespaced', '', '0100'],
    ['v1', 'PodTemplate', 'podtemplates', '', 'Namespaced', '', '0111'],
    ['v1', 'ReplicationController', 'replicationcontrollers', 'rc', 'Namespaced', 'status,scale', '0101'],
    ['v1', 'LimitRange', 'limitranges', 'limits', 'Namespaced', '', '1100'],
    ['v1', 'PersistentVolume', 'persistentvolumes', 'pv', 'Cluster', 'status', '0110'],
    ['v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', 'pvc', 'Namespaced', 'status', '0110'],
    ['v1', 'ResourceQuota', 'resourcequotas', 'quota', 'Namespaced', 'status', '0110'],
    ['v1', 'ServiceAccount', 'serviceaccounts', 'sa', 'Namespaced', 'token', '1110'],
    ['v1', 'Service', 'services', 'svc', 'Namespaced', 'status,proxy', '1110'],
    ['v1', 'Endpoints', 'endpoints', 'ep', 'Namespaced', '', '1100'],
    ['v1', 'Event', 'events', 'ev', 'Namespaced', '', '1100'],
    ['v1', 'Event', 'events', 'ev', 'Namespaced', '', '1100'],
    ['v1', 'Binding', 'bindings', '', 'Namespaced', '', '0000'],
    ['v1', 'ComponentStatus', 'componentstatuses', 'cs', 'Cluster', '', '0000'],
    ['v1', 'ControllerRevision', 'controllerrevisions', '', 'Namespaced', '', '0100'],
    ['v1', 'DaemonSet', 'daemonsets', 'ds', 'Namespaced', 'status', '0101'],
    ['v1', 'Deployment', 'deployments', 'deploy', 'Namespaced', 'status,scale', '0101'],
    ['v1', 'ReplicaSet', 'replicasets', 'rs', 'Namespaced', 'status,scale', '0101'],
    ['v1', 'StatefulSet', 'statefulsets', 'sts', 'Namespaced', 'status,scale', '0101'],
    ['v1', 'Job', 'jobs', '', 'Namespaced', 'status', '0101'],
    ['v1', 'CronJob', 'cronjobs', 'cj', 'Namespaced', 'status', '0101'],
    ['v1', 'Lease', 'leases', '', 'Namespaced', '', '1000'],
    ['v1alpha2', 'LeaseCandidate', 'leasecandidates', '', 'Namespaced', '', '1000'],
    ['v1alpha1', 'StorageVersion', 'storageversions', '', 'Cluster', 'status', '0000'],
    ['v1alpha1', 'StorageVersionMigration', 'storageversionmigrations', '', 'Cluster', 'status', '0000'],
    ['v1', 'CertificateSigningRequest', 'certificatesigningrequests', 'csr', 'Cluster', 'approval,status', '0100'],
    ['v1', 'EndpointSlice', 'endpointslices', '', 'Namespaced', '', '0101'],
    ['v1', 'IngressClass', 'ingressclasses', '', 'Cluster', '', '0101'],
    ['v1', 'Ingress', 'ingresses', 'ing', 'Namespaced', 'status', '0101'],
    ['v1', 'NetworkPolicy', 'networkpolicies', 'netpol', 'Namespaced', '', '0101'],
    ['v1beta1', 'IPAddress', 'ipaddresses', 'ip', 'Cluster', '', '0100'],
    ['v1beta1', 'ServiceCIDR', 'servicecidrs', '', 'Cluster', 'status', '0100'],
    ['v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'hpa', 'Namespaced', 'status', '0100'],
    ['v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'hpa', 'Namespaced', 'status', '0100'],
    ['v1', 'PodDisruptionBudget', 'poddisruptionbudgets', 'pdb', 'Namespaced', 'status', '0001'],
    ['v1', 'Role', 'roles', '', 'Namespaced', '', '1100'],
    ['v1', 'RoleBinding', 'rolebindings', '', 'Namespaced', '', '1100'],
    ['v1', 'ClusterRole', 'clusterroles', '', 'Cluster', '', '1100'],
    ['v1', 'ClusterRoleBinding', 'clusterrolebindings', '', 'Cluster', '', '1100'],
    ['v1alpha1', 'ClusterTrustBundle', 'clustertrustbundles', '', 'Cluster', '', '0000'],
    ['v1beta1', 'ClusterTrustBundle', 'clustertrustbundles', '', 'Cluster', '', '0000'],
    ['v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'crd,crds', 'Cluster', 'status', '0001'],
    ['v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', '', 'Cluster', '', '0001'],
    ['v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', '', 'Cluster', '', '0001'],
    ...['v1', 'v1beta1'].flatMap((version) => [
      [version, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', '', 'Cluster', 'status', '0001'],
      [version, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', '', 'Cluster', '', '0001'],
    ]),
    ['v1alpha1', 'MutatingAdmissionPolicy', 'mutatingadmissionpolicies', '', 'Cluster', '', '0001'],
    ['v1alpha1', 'MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings', '', 'Cluster', '', '0001'],
    ['v1', 'PriorityClass', 'priorityclasses', 'pc', 'Cluster', '', '0100'],
    ['v1', 'RuntimeClass', 'runtimeclasses', '', 'Cluster', '', '1000'],
    ['v1', 'StorageClass', 'storageclasses', 'sc', 'Cluster', '', '0110'],
    ['v1', 'CSIDriver', 'csidrivers', '', 'Cluster', '', '0010'],
    ['v1', 'CSINode', 'csinodes', '', 'Cluster', '', '0010'],
    ['v1', 'CSIStorageCapacity', 'csistoragecapacities', '', 'Namespaced', '', '0000'],
    ['v1', 'VolumeAttachment', 'volumeattachments', '', 'Cluster', 'status', '0010'],
    ['v1beta1', 'VolumeAttributesClass', 'volumeattributesclasses', 'vac', 'Cluster', '', '0110'],
    ['v1alpha1', 'VolumeAttributesClass', 'volumeattributesclasses', 'vac', 'Cluster', '', '0110'],
    ...[
      ['ResourceClaim', 'resourceclaims', '', 'Namespaced', 'status', '0110'],
      ['ResourceClaimTemplate', 'resourceclaimtemplates', '', 'Namespaced', '', '0110'],
      ['DeviceClass', 'deviceclasses', '', 'Cluster', '', '0111'],
      ['ResourceSlice', 'resourceslices', '', 'Cluster', '', '0111'],
    ].flatMap((facts) => ['v1beta1', 'v1alpha3'].map((version) => [version, ...facts])),
    ['v1', 'FlowSchema', 'flowschemas', '', 'Cluster', 'status', '0101'],
    ['v1', 'PriorityLevelConfiguration', 'prioritylevelconfigurations', '', 'Cluster', 'status', '0101'],
    ['v1', 'TokenReview', 'tokenreviews', '', 'Cluster', '', '0000'],
    ['v1', 'SelfSubjectReview', 'selfsubjectreviews', '', 'Cluster', '', '0000'],
    ['v1beta1', 'SelfSubjectReview', 'selfsubjectreviews', '', 'Cluster', '', '0000'],
    ['v1alpha1', 'SelfSubjectReview', 'selfsubjectreviews', '', 'Cluster', '', '0000'],
    ['v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', '', 'Cluster', '', '0000'],
    ['v1', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews', '', 'Cluster', '', '0000'],
    ['v1', 'SubjectAccessReview', 'subjectaccessreviews', '', 'Cluster', '', '0000'],
    ['v1', 'LocalSubjectAccessReview', 'localsubjectaccessreviews', '', 'Namespaced', '', '0000'],
  ]);
});

for (const kind of all) {
  test(`${kind.kind}: its names are consistent`, () => {
    assert.equal(kind.listKind, `${kind.kind}List`);
    assert.equal(kind.singular, kind.kind.toLowerCase());
    assert.equal(kind.schema.name.split('.').at(-1), kind.kind);
    assert.equal(
      kind.columns.some(({ name, format }) => name === 'Name' && format === 'name'),
      true,
    );
  });
}

test('schemas: field numbers are unique within a message', () => {
  for (const struct of everyStruct) {
    const seen = new Map<string, string>();
    for (const [name, field] of Object.entries(struct.fields)) {
      if (field.number === 0) {
        assert.ok(name === 'apiVersion' || name === 'kind', `${struct.name}.${name}`);
        continue;
      }
      const number = [...(field.within ?? []), field.number].join('/');
      assert.equal(seen.get(number), undefined, `${struct.name}: ${name} and ${seen.get(number)} are both ${number}`);
      seen.set(number, name);
    }
  }
});

test('schemas: a name belongs to a single struct', () => {
  assert.equal(new Set([...everyStruct].map(({ name }) => name)).size, everyStruct.size);
});

test('schemas: every struct and field has a description that is a sentence', () => {
  for (const struct of everyStruct) {
    const texts = [
      ['', struct.description],
      ...Object.entries(struct.fields).map(([name, f]) => [name, f.description]),
    ];
    for (const [name, text] of texts) assert.match(text ?? '', /^[^a-z\s].*\.$|^`.*\.$/, `${struct.name} ${name}`);
  }
});

test('schemas: keys of list maps are fields of their items', () => {
  for (const struct of everyStruct) {
    for (const [name, field] of Object.entries(struct.fields)) {
      const list = schemaOf(field);
      if (list.type !== 'list' || list.listType !== 'map') continue;
      const { items } = list;
      assert.equal(items.type, 'struct', `${struct.name}.${name}`);
      for (const key of list.mapKeys ?? []) assert.ok(items.type === 'struct' && Object.hasOwn(items.fields, key), key);
    }
  }
});

/** Field numbers that are out of order in the Kubernetes messages, and so easy to get wrong. */
const numbers: readonly (readonly [string, Readonly<Record<string, number>>])[] = [
  [
    'ObjectMeta',
    { name: 1, namespace: 3, uid: 5, creationTimestamp: 8, labels: 11, finalizers: 14, managedFields: 17 },
  ],
  ['OwnerReference', { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 }],
  ['ManagedFieldsEntry', { manager: 1, time: 4, fieldsType: 6, fieldsV1: 7, subresource: 8 }],
  ['StatusDetails', { kind: 3, causes: 4, retryAfterSeconds: 5, uid: 6 }],
  ['Secret', { metadata: 1, data: 2, type: 3, stringData: 4, immutable: 5 }],
  ['ConfigMap', { data: 2, binaryData: 3, immutable: 4 }],
  ['NodeSpec', { podCIDR: 1, externalID: 2, providerID: 3, unschedulable: 4, taints: 5, configSource: 6, podCIDRs: 7 }],
  ['NamespaceCondition', { type: 1, status: 2, lastTransitionTime: 4, reason: 5, message: 6 }],
  ['Event', { involvedObject: 2, source: 5, type: 9, eventTime: 10, series: 11, reportingInstance: 15 }],
  ['EndpointSlice', { metadata: 1, endpoints: 2, ports: 3, addressType: 4 }],
  ['EndpointAddress', { ip: 1, targetRef: 2, hostname: 3, nodeName: 4 }],
  ['EndpointSubset', { addresses: 1, notReadyAddresses: 2, ports: 3 }],
  ['MetricSpec', { type: 1, object: 2, pods: 3, resource: 4, external: 5, containerResource: 7 }],
  ['HPAScalingRules', { selectPolicy: 1, policies: 2, stabilizationWindowSeconds: 3 }],
  ['IngressSpec', { defaultBackend: 1, tls: 2, rules: 3, ingressClassName: 4 }],
  ['HTTPIngressPath', { path: 1, backend: 2, pathType: 3 }],
  ['IngressBackend', { resource: 3, service: 4 }],
  ['IngressLoadBalancerIngress', { ip: 1, hostname: 2, ports: 4 }],
  ['NetworkPolicySpec', { podSelector: 1, ingress: 2, egress: 3, policyTypes: 4 }],
  ['PodDisruptionBudgetSpec', { minAvailable: 1, selector: 2, maxUnavailable: 3, unhealthyPodEvictionPolicy: 4 }],
  ['PodDisruptionBudgetStatus', { disruptedPods: 2, disruptionsAllowed: 3, expectedPods: 6, conditions: 7 }],
  ['PolicyRule', { verbs: 1, apiGroups: 2, resources: 3, resourceNames: 4, nonResourceURLs: 5 }],
  ['Subject', { kind: 1, apiGroup: 2, name: 3, namespace: 4 }],
  ['RoleRef', { apiGroup: 1, kind: 2, name: 3 }],
  ['ClusterRole', { metadata: 1, rules: 2, aggregationRule: 3 }],
  [
    'ValidatingWebhook',
    { matchPolicy: 9, namespaceSelector: 5, sideEffects: 6, objectSelector: 10, matchConditions: 11 },
  ],
  [
    'MatchResources',
    { namespaceSelector: 1, objectSelector: 2, resourceRules: 3, excludeResourceRules: 4, matchPolicy: 7 },
  ],
  ['Validation', { expression: 1, message: 2, reason: 3, messageExpression: 4 }],
  [
    'ValidatingAdmissionPolicySpec',
    { validations: 3, failurePolicy: 4, auditAnnotations: 5, matchConditions: 6, variables: 7 },
  ],
  [
    'MutatingAdmissionPolicySpec',
    { variables: 3, mutations: 4, failurePolicy: 5, matchConditions: 6, reinvocationPolicy: 7 },
  ],
  ['Mutation', { patchType: 2, applyConfiguration: 3, jsonPatch: 4 }],
  ['ExpressionWarning', { fieldRef: 2, warning: 3 }],
  ['MutatingWebhook', { matchPolicy: 9, reinvocationPolicy: 10, objectSelector: 11, matchConditions: 12 }],
  ['RoleBinding', { metadata: 1, subjects: 2, roleRef: 3 }],
  ['TokenRequestSpec', { audiences: 1, boundObjectRef: 3, expirationSeconds: 4 }],
  ['TokenRequestStatus', { token: 1, expirationTimestamp: 2 }],
  ['BoundObjectReference', { kind: 1, apiVersion: 2, name: 3, uid: 4 }],
  ['TokenReviewStatus', { authenticated: 1, user: 2, error: 3, audiences: 4 }],
  ['UserInfo', { username: 1, uid: 2, groups: 3, extra: 4 }],
  ['SelfSubjectReview', { metadata: 1, status: 2 }],
  ['SubjectAccessReviewStatus', { allowed: 1, reason: 2, evaluationError: 3, denied: 4 }],
  [
    'SubjectAccessReviewSpec',
    { resourceAttributes: 1, nonResourceAttributes: 2, user: 3, groups: 4, extra: 5, uid: 6 },
  ],
  ['NonResourceAttributes', { path: 1, verb: 2 }],
  ['SubjectRulesReviewStatus', { resourceRules: 1, nonResourceRules: 2, incomplete: 3, evaluationError: 4 }],
  [
    'ServiceSpec',
    {
      ports: 1,
      clusterIP: 3,
      sessionAffinity: 7,
      sessionAffinityConfig: 14,
      ipFamilyPolicy: 17,
      clusterIPs: 18,
      ipFamilies: 19,
      allocateLoadBalancerNodePorts: 20,
      internalTrafficPolicy: 22,
      trafficDistribution: 23,
    },
  ],
  ['ServicePort', { name: 1, protocol: 2, port: 3, targetPort: 4, nodePort: 5, appProtocol: 6 }],
  ['LoadBalancerIngress', { ip: 1, hostname: 2, ipMode: 3, ports: 4 }],
  ['PriorityClass', { metadata: 1, value: 2, globalDefault: 3, description: 4, preemptionPolicy: 5 }],
  ['RuntimeClass', { handler: 2, overhead: 3, scheduling: 4 }],
  ['Scheduling', { nodeSelector: 1, tolerations: 2 }],
  [
    'StorageClass',
    {
      provisioner: 2,
      parameters: 3,
      reclaimPolicy: 4,
      mountOptions: 5,
      allowVolumeExpansion: 6,
      volumeBindingMode: 7,
      allowedTopologies: 8,
    },
  ],
  [
    'CSIDriverSpec',
    {
      attachRequired: 1,
      podInfoOnMount: 2,
      volumeLifecycleModes: 3,
      storageCapacity: 4,
      fsGroupPolicy: 5,
      tokenRequests: 6,
      requiresRepublish: 7,
      seLinuxMount: 8,
    },
  ],
  ['CSINodeDriver', { name: 1, nodeID: 2, topologyKeys: 3, allocatable: 4 }],
  ['CSIStorageCapacity', { nodeTopology: 2, storageClassName: 3, capacity: 4, maximumVolumeSize: 5 }],
  ['LimitRangeItem', { type: 1, max: 2, min: 3, default: 4, defaultRequest: 5, maxLimitRequestRatio: 6 }],
  ['ResourceQuotaSpec', { hard: 1, scopes: 2, scopeSelector: 3 }],
  ['LeaseCandidateSpec', { leaseName: 1, pingTime: 2, binaryVersion: 4, emulationVersion: 5, strategy: 6 }],
  ['ServerStorageVersion', { apiServerID: 1, encodingVersion: 2, decodableVersions: 3, servedVersions: 4 }],
  ['MigrationCondition', { type: 1, status: 2, lastUpdateTime: 3, reason: 4, message: 5 }],
  ['DeviceRequest', { name: 1, deviceClassName: 2, selectors: 3, allocationMode: 4, count: 5, adminAccess: 6 }],
  ['ResourceClaimStatus', { allocation: 1, reservedFor: 2, devices: 4 }],
  ['ResourceClaimConsumerReference', { apiGroup: 1, resource: 3, name: 4, uid: 5 }],
  ['DeviceAttribute', { int: 2, bool: 3, string: 4, version: 5 }],
  ['ResourceSliceSpec', { driver: 1, pool: 2, nodeName: 3, nodeSelector: 4, allNodes: 5, devices: 6 }],
  ['CronJobSpec', { schedule: 1, suspend: 4, jobTemplate: 5, failedJobsHistoryLimit: 7, timeZone: 8 }],
  ['CronJobStatus', { active: 1, lastScheduleTime: 4, lastSuccessfulTime: 5 }],
  ['LeaseSpec', { holderIdentity: 1, renewTime: 4, leaseTransitions: 5, preferredHolder: 7 }],
];

for (const [name, expected] of numbers) {
  test(`${name}: protobuf numbers`, () => {
    const struct = [...everyStruct].find((each) => each.name.endsWith(`.${name}`));
    const fields: Readonly<Record<string, Field>> = struct?.fields ?? {};
    const found = Object.keys(expected).map((field) => [field, fields[field]?.number]);
    assert.deepEqual(Object.fromEntries(found), expected);
  });
}

test('core kinds and roles: finalizers in the metadata have a domain', () => {
  const sent = { metadata: { finalizers: ['x.io/a', 'orphan', 'orch', 'mine'] } };
  const error =
    'metadata.finalizers[3]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified';
  assert.deepEqual(create(kindOf('ConfigMap'), sent).errors, [error]);
  assert.deepEqual(create(kindOf('ServiceAccount'), sent).errors, [error]);
  assert.deepEqual(create(kindOf('Role'), sent).errors, [error]);
  assert.deepEqual(create(kindOf('PriorityLevelConfiguration'), sent).errors.includes(error), true);
  assert.deepEqual(create(kindOf('Lease'), sent).errors, []);
  assert.ok(!create(kindOf('CustomResourceDefinition'), sent).errors.includes(error));
});

test('kinds: strategic merge patches replace the conditions of definitions, as published, and merge those of requests', () => {
  const strategies = { CustomResourceDefinitionStatus: undefined, CertificateSigningRequestStatus: 'merge' };
  for (const [name, strategy] of Object.entries(strategies)) {
    const found = [...everyStruct].find((each) => each.name.split('.').at(-1) === name);
    const conditions = found?.fields['conditions'];
    const schema = conditions && schemaOf(conditions);
    assert.ok(schema?.type === 'list', name);
    assert.deepEqual([schema.patchStrategy, schema.listType, schema.mapKeys], [strategy, 'map', ['type']], name);
  }
});
