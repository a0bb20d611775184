import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { dropDisabledFields } from '../../schema/feature-gates.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { type FeatureName, featureGates } from '../../server/wiring/features.ts';
import { nodeStatus } from './node-status.ts';
import { persistentVolumeSpec } from './persistent-volume/persistent-volume-spec.ts';
import { persistentVolumeClaimSchema } from './persistent-volume-claim-schema.ts';
import { podStatus } from './pod/pod-status.ts';
import { podTemplateSpec } from './pod/pod-template-spec.ts';

const className = { volumeAttributesClassName: 'c' };
const ofContainer = (value: object) => ({ spec: { containers: [{ name: 'c', ...value }] } });
const ofStatus = (value: object) => ({ containerStatuses: [{ name: 'c', ...value }] });
const mounts = (...names: string[]) => names.map((name) => ({ name, mountPath: `/${name}` }));

const rows: readonly (readonly [gate: FeatureName, schema: StructSchema, value: object, left: object])[] = [
  [
    'InPlacePodVerticalScaling',
    podTemplateSpec,
    { spec: { containers: [{ name: 'c', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }] } },
    { spec: { containers: [{ name: 'c' }] } },
  ],
  ['UserNamespacesSupport', podTemplateSpec, { spec: { hostUsers: false } }, { spec: {} }],
  ['PodLevelResources', podTemplateSpec, { spec: { resources: { limits: { cpu: '1' } } } }, { spec: {} }],
  [
    'SupplementalGroupsPolicy',
    podTemplateSpec,
    { spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } },
    { spec: { securityContext: {} } },
  ],
  [
    'SELinuxChangePolicy',
    podTemplateSpec,
    { spec: { securityContext: { seLinuxChangePolicy: 'Recursive' } } },
    { spec: { securityContext: {} } },
  ],
  [
    'DynamicResourceAllocation',
    podTemplateSpec,
    {
      spec: {
        resourceClaims: [{ name: 'gpu', resourceClaimName: 'one' }],
        containers: [{ name: 'c', resources: { claims: [{ name: 'gpu' }], limits: { cpu: '1' } } }],
      },
    },
    ofContainer({ resources: { limits: { cpu: '1' } } }),
  ],
  ['DynamicResourceAllocation', podStatus, { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'c' }] }, {}],
  [
    'ImageVolume',
    podTemplateSpec,
    {
      spec: {
        volumes: [
          { name: 'v', image: { reference: 'registry/data:1' } },
          { name: 'w', emptyDir: {} },
        ],
        initContainers: [{ name: 'i', volumeMounts: mounts('v') }],
        containers: [{ name: 'c', volumeMounts: mounts('v', 'w') }],
      },
    },
    {
      spec: {
        volumes: [{ name: 'w', emptyDir: {} }],
        initContainers: [{ name: 'i' }],
        containers: [{ name: 'c', volumeMounts: mounts('w') }],
      },
    },
  ],
  [
    'ClusterTrustBundleProjection',
    podTemplateSpec,
    { spec: { volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'b', path: 'p' } }] } }] } },
    { spec: { volumes: [{ name: 'v', projected: { sources: [{}] } }] } },
  ],
  [
    'ProcMountType',
    podTemplateSpec,
    ofContainer({ securityContext: { procMount: 'Unmasked' } }),
    ofContainer({ securityContext: { procMount: 'Default' } }),
  ],
  [
    'InPlacePodVerticalScaling',
    podStatus,
    { resize: 'Proposed', ...ofStatus({ resources: { limits: { cpu: '1' } } }) },
    ofStatus({}),
  ],
  ['InPlacePodVerticalScalingAllocatedStatus', podStatus, ofStatus({ allocatedResources: { cpu: '1' } }), ofStatus({})],
  ['ResourceHealthStatus', podStatus, ofStatus({ allocatedResourcesStatus: [{ name: 'gpu' }] }), ofStatus({})],
  ['SupplementalGroupsPolicy', podStatus, ofStatus({ user: { linux: { uid: 1, gid: 2 } } }), ofStatus({})],
  ['SupplementalGroupsPolicy', nodeStatus, { features: { supplementalGroupsPolicy: true } }, {}],
  ['VolumeAttributesClass', persistentVolumeSpec, className, {}],
  ['VolumeAttributesClass', persistentVolumeClaimSchema, { spec: className }, { spec: {} }],
  [
    'VolumeAttributesClass',
    persistentVolumeClaimSchema,
    { status: { currentVolumeAttributesClassName: 'c', modifyVolumeStatus: { status: 'Pending' } } },
    { status: {} },
  ],
];

for (const [gate, schema, value, left] of rows) {
  const changed = (old: object | undefined, features: readonly string[]): object => {
    const copy = structuredClone(value);
    dropDisabledFields(schema, copy, old, new Set(features));
    return copy;
  };
  test(`${gate}: ${JSON.stringify(value)} needs the feature`, () => {
    assert.equal(featureGates[gate].default, false);
    assert.deepEqual(changed(undefined, []), left);
    assert.deepEqual(changed(left, []), left);
    assert.deepEqual(changed(value, []), value, 'an object that has the fields keeps them');
    assert.deepEqual(changed(undefined, [gate]), value);
  });
}

test('templates of claims keep the class that the claims lose', async () => {
  await using fixture = await RegistryFixture.open();
  const claim = { metadata: { name: 'd' }, spec: { ...className, accessModes: ['ReadWriteOnce'] } };
  const made = await fixture.object('POST', '/apis/apps/v1/namespaces/n/statefulsets', {
    metadata: { name: 's' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      serviceName: 's',
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      volumeClaimTemplates: [claim],
    },
  });
  const { volumeClaimTemplates } = made['spec'] as { readonly volumeClaimTemplates: readonly (typeof claim)[] };
  assert.equal(volumeClaimTemplates[0]?.spec.volumeAttributesClassName, 'c');
  const resources = { requests: { storage: '1Gi' } };
  const kept = await fixture.object('POST', '/api/v1/namespaces/n/persistentvolumeclaims', {
    ...claim,
    spec: { ...claim.spec, resources },
  });
  assert.equal((kept['spec'] as typeof claim.spec).volumeAttributesClassName, undefined);
});

test('a pod that may not see the process file system unmasked is made with it masked', async () => {
  await using fixture = await RegistryFixture.open();
  const container = { name: 'c', image: 'i', securityContext: { procMount: 'Unmasked' } };
  const made = await fixture.object('POST', '/api/v1/namespaces/n/pods', {
    metadata: { name: 'p' },
    spec: { hostUsers: false, containers: [container] },
  });
  const { hostUsers, containers } = made['spec'] as { hostUsers?: boolean; containers: (typeof container)[] };
  assert.deepEqual([hostUsers, containers[0]?.securityContext], [undefined, { procMount: 'Default' }]);
});

test('what a node says of itself and its pods is kept, whatever features are off', async () => {
  await using fixture = await RegistryFixture.open();
  const reported = {
    pods: {
      at: '/api/v1/namespaces/n/pods',
      spec: { containers: [{ name: 'c', image: 'i' }] },
      status: {
        resize: 'Proposed',
        ...ofStatus({ resources: { limits: { cpu: '1' } }, allocatedResources: { cpu: '1' }, user: {} }),
      },
    },
    nodes: { at: '/api/v1/nodes', spec: {}, status: { features: { supplementalGroupsPolicy: true } } },
  };
  for (const { at, spec, status } of Object.values(reported)) {
    const made = await fixture.object('POST', at, { metadata: { name: 'x' }, spec, status });
    assert.equal(containsAll(made['status'], status), false, 'a new object is not kept as sent');
    const put = await fixture.object('PUT', `${at}/x/status`, { ...made, status });
    assert.equal(containsAll(put['status'], status), true, JSON.stringify(put['status']));
    const labelled = await fixture.object('PUT', `${at}/x`, {
      ...put,
      metadata: { ...put.metadata, labels: { a: 'b' } },
    });
    assert.deepEqual(labelled['status'], put['status']);
  }
});

/** Whether a value has all that another one has. */
function containsAll(value: unknown, other: unknown): boolean {
  if (typeof other !== 'object' || other === null) return value === other;
  return Object.entries(other).every(([name, part]) => containsAll(Object(value)[name], part));
}
