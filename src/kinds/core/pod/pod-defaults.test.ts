import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageTag } from './container/image-name.ts';
import { defaultPod } from './pod-defaults.ts';
import { containerWith, created, podWith } from './pod-fixture.ts';
import { asPod } from './pod-schema.ts';

test('the stored form of a minimal pod', () => {
  const { pod } = created(podWith({}));
  assert.deepEqual(pod.spec, {
    containers: [
      {
        name: 'app',
        image: 'app:1',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  assert.deepEqual(pod.status, { phase: 'Pending', qosClass: 'BestEffort' });
});

const tags: readonly (readonly [string, string])[] = [
  ['app', 'latest'],
  ['app:latest', 'latest'],
  ['app:1', '1'],
  ['registry:5000/app', 'latest'],
  ['registry:5000/app:2', '2'],
  [`app@sha256:${'0'.repeat(64)}`, ''],
  [`app:latest@sha256:${'0'.repeat(64)}`, 'latest'],
  ['Registry/a/b', 'latest'],
  ['[::1]:5000/app', 'latest'],
  ['a'.repeat(247), 'latest'],
  // No references.
  ['App', ''],
  ['/app', ''],
  ['app@sha256:00', ''],
  ['0'.repeat(64), ''],
  ['a'.repeat(248), ''],
];

for (const [image, tag] of tags) {
  test(`image ${image}: its tag and pull policy`, () => {
    assert.equal(imageTag(image), tag);
    const { pod } = created(containerWith({ image }));
    assert.equal(pod.spec?.containers[0]?.imagePullPolicy, tag === 'latest' ? 'Always' : 'IfNotPresent');
  });
}

test('a text longer than any reference is none', () => {
  assert.equal(imageTag(`${'a/'.repeat(2_048)}b`), '');
});

test('probes and handlers', () => {
  const { pod } = created(
    containerWith({ livenessProbe: { httpGet: { port: 80 } }, startupProbe: { grpc: { port: 1 } } }),
  );
  const [container] = pod.spec?.containers ?? [];
  const times = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  assert.deepEqual(container?.livenessProbe, { httpGet: { path: '/', port: 80, scheme: 'HTTP' }, ...times });
  assert.deepEqual(container?.startupProbe, { grpc: { port: 1, service: '' }, ...times });
});

test('missing requests default to the limits', () => {
  const { pod } = created(
    containerWith({ resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } } }),
  );
  assert.deepEqual(pod.spec?.containers[0]?.resources?.requests, { cpu: '100m', memory: '1Gi' });
});

test('resources are kept in whole thousandths, rounded up', () => {
  const { pod } = created(containerWith({ resources: { requests: { cpu: '0.0001' } } }));
  assert.deepEqual(pod.spec?.containers[0]?.resources?.requests, { cpu: '1m' });
});

test('with host networking, host ports default to container ports', () => {
  const { pod } = created(containerWith({ ports: [{ containerPort: 80 }] }, { hostNetwork: true }));
  assert.deepEqual(pod.spec?.containers[0]?.ports, [{ hostPort: 80, containerPort: 80, protocol: 'TCP' }]);
});

test('the service account and its deprecated alias', () => {
  for (const sent of [
    { serviceAccount: 'a' },
    { serviceAccountName: 'a' },
    { serviceAccountName: 'a', serviceAccount: 'b' },
  ]) {
    const { spec } = created(podWith(sent)).pod;
    assert.deepEqual([spec?.serviceAccountName, spec?.serviceAccount], ['a', 'a']);
  }
});

test('volumes', () => {
  const token = { serviceAccountToken: { path: 't' } };
  const { pod } = created(
    podWith({
      serviceAccountName: 'a',
      volumes: [
        { name: 'none' },
        { name: 'host', hostPath: { path: '/x' } },
        { name: 'secret', secret: { secretName: 's' } },
        { name: 'projected', projected: { sources: [token] } },
        { name: 'iscsi', iscsi: { targetPortal: 'p', iqn: 'iqn.x' } },
        { name: 'rbd', rbd: { monitors: ['m'], image: 'i' } },
        { name: 'azure', azureDisk: { diskName: 'd', diskURI: 'u' } },
        { name: 'image', image: { reference: 'i' } },
      ],
    }),
  );
  assert.deepEqual(
    (pod.spec?.volumes ?? []).map(({ name: _, ...source }) => source),
    [
      { emptyDir: {} },
      { hostPath: { path: '/x', type: '' } },
      { secret: { secretName: 's', defaultMode: 0o644 } },
      { projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3600, path: 't' } }], defaultMode: 0o644 } },
      { iscsi: { targetPortal: 'p', iqn: 'iqn.x', lun: 0, iscsiInterface: 'default' } },
      { rbd: { monitors: ['m'], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
      {
        azureDisk: {
          diskName: 'd',
          diskURI: 'u',
          cachingMode: 'ReadWrite',
          fsType: 'ext4',
          readOnly: false,
          kind: 'Shared',
        },
      },
      { image: { reference: 'i', pullPolicy: 'Always' } },
    ],
  );
});

test('a pod with scheduling gates has the condition SchedulingGated', () => {
  const { pod } = created(podWith({ schedulingGates: [{ name: 'a' }] }));
  assert.deepEqual(pod.status?.conditions, [
    {
      type: 'PodScheduled',
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: null,
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
    },
  ]);
});

test('label keys of affinity become requirements of the selector', () => {
  const term = {
    topologyKey: 'zone',
    labelSelector: {},
    matchLabelKeys: ['app', 'absent'],
    mismatchLabelKeys: ['tier'],
  };
  const { pod, errors } = created(
    podWith(
      { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
      { labels: { app: 'shop', tier: 'front' } },
    ),
  );
  assert.deepEqual(errors, []);
  const [stored] = pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  assert.deepEqual(stored?.labelSelector?.matchExpressions, [
    { key: 'app', operator: 'In', values: ['shop'] },
    { key: 'tier', operator: 'NotIn', values: ['front'] },
  ]);
});

test('defaulting is idempotent', () => {
  const { object } = created(
    containerWith(
      { resources: { limits: { cpu: '1' } }, ports: [{ containerPort: 1 }] },
      { hostNetwork: true, volumes: [{ name: 'v' }], serviceAccount: 'a' },
    ),
  );
  const before = structuredClone(object);
  defaultPod(object);
  assert.deepEqual(object, before);
});

const addresses = [
  { sent: { podIP: '10.0.0.1' }, podIP: '10.0.0.1', podIPs: ['10.0.0.1'] },
  { sent: { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }, podIP: '10.0.0.1', podIPs: ['10.0.0.1', 'fd00::1'] },
  { sent: { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }] }, podIP: '10.0.0.2', podIPs: ['10.0.0.2'] },
];

for (const { sent, podIP, podIPs } of addresses) {
  test(`addresses of a pod agree: ${JSON.stringify(sent)}`, () => {
    const { object } = created(podWith({}));
    object['status'] = structuredClone(sent);
    defaultPod(object);
    const { status } = asPod(object);
    assert.deepEqual([status?.podIP, status?.podIPs?.map(({ ip }) => ip)], [podIP, podIPs]);
  });
}

test('a negative grace period is the shortest one', () => {
  assert.equal(created(podWith({ terminationGracePeriodSeconds: -5 })).pod.spec?.terminationGracePeriodSeconds, 1);
});
