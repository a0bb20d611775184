import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causes, podWith, type Sent, stored, updated } from './pod-fixture.ts';
import { podEphemeralContainersView, podStatusView } from './pod-views.ts';

const debug = { name: 'debug', image: 'tools' };
const withDebug = (...ephemeralContainers: Sent[]): Sent => podWith({ ephemeralContainers });
const running = podWith({
  restartPolicy: 'Never',
  containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '1' } } }],
  initContainers: [{ name: 'side', image: 's', restartPolicy: 'Always' }],
});

test('status: only the status changes, with labels and annotations', () => {
  const old = stored(podWith({}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }] }));
  const sent = {
    ...podWith({ hostname: 'x' }, { labels: { a: '1' } }),
    status: { phase: 'Running', podIP: '10.0.0.9' },
  };
  const { object, errors } = updated(old, sent, podStatusView);
  assert.deepEqual(errors, []);
  assert.deepEqual(object['spec'], old['spec']);
  assert.deepEqual(object['status'], {
    phase: 'Running',
    podIP: '10.0.0.9',
    podIPs: [{ ip: '10.0.0.9' }],
    qosClass: 'BestEffort',
  });
  assert.deepEqual(object.metadata.labels, { a: '1' });
  assert.deepEqual(object.metadata.ownerReferences, old.metadata.ownerReferences);
});

const ended = (name: string, exitCode: number): Sent => ({ name, state: { terminated: { exitCode } } });
const alive = (name: string): Sent => ({ name, state: { running: {} } });

const healthOf = (name: string): Sent => ({ name, resources: [{ resourceID: 'a', health: 'Healthy' }] });

/** Case, old status, new status, expected causes. */
const reports: readonly (readonly [string, Sent, Sent, ...string[]])[] = [
  ['another class', {}, { qosClass: 'Guaranteed' }, 'FieldValueInvalid status.qosClass'],
  [
    'bad condition type',
    {},
    { conditions: [{ type: 'a b', status: 'True' }] },
    'FieldValueInvalid metadata.conditions[0].Type',
  ],
  ['bad address', {}, { podIPs: [{ ip: '10.0.0' }] }, 'FieldValueInvalid status.podIPs[0]'],
  [
    'two addresses of a family',
    {},
    { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
    'FieldValueInvalid status.podIPs',
  ],
  ['address of the node', {}, { hostIPs: [{ ip: '10.0.0.1' }] }, 'FieldValueInvalid status.hostIPs[0].ip'],
  [
    'claims that were made for no entry',
    {},
    { resourceClaimStatuses: [{ name: 'x' }, { name: 'x' }] },
    'FieldValueDuplicate status.resourceClaimStatuses[1].name',
    'FieldValueInvalid status.resourceClaimStatuses[0].name',
    'FieldValueInvalid status.resourceClaimStatuses[1].name',
  ],
  [
    'users and groups out of range',
    {},
    {
      initContainerStatuses: [{ name: 'side', user: { linux: { uid: 0, gid: 2 ** 31 } } }],
      containerStatuses: [{ name: 'app', user: { linux: { uid: -1, gid: 1, supplementalGroups: [2, -3] } } }],
    },
    'FieldValueInvalid status.containerStatuses[0].linux.supplementalGroups[1]',
    'FieldValueInvalid status.containerStatuses[0].linux.uid',
    'FieldValueInvalid status.initContainerStatuses[0].linux.gid',
  ],
  [
    'health of what no container was given',
    {},
    {
      containerStatuses: [
        { name: 'app', allocatedResourcesStatus: [healthOf('cpu'), healthOf('memory'), healthOf('claim:a/b')] },
        { name: 'gone', allocatedResourcesStatus: [healthOf('x')] },
      ],
      initContainerStatuses: [{ name: 'side', allocatedResourcesStatus: [healthOf('cpu')] }],
      ephemeralContainerStatuses: [{ name: 'debug', allocatedResourcesStatus: [healthOf('cpu')] }],
    },
    'FieldValueForbidden status.ephemeralContainerStatuses[0].allocatedResourcesStatus',
    'FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[1].name',
    'FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[2].name',
    'FieldValueInvalid status.initContainerStatuses[0].allocatedResourcesStatus[0].name',
  ],
  [
    'health that is none, of one unit twice',
    {},
    {
      containerStatuses: [
        {
          name: 'app',
          allocatedResourcesStatus: [
            { name: 'cpu', resources: [{ resourceID: 'a', health: 'Healthy' }, { resourceID: 'a' }] },
          ],
        },
      ],
    },
    'FieldValueDuplicate status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID',
    'FieldValueNotSupported status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].health',
  ],
  ['bad nominated node', {}, { nominatedNodeName: 'A' }, 'FieldValueInvalid status.nominatedNodeName'],
  [
    'container back to life',
    { containerStatuses: [ended('app', 1)] },
    { containerStatuses: [alive('app')] },
    'FieldValueForbidden status.containerStatuses[0].state',
  ],
  ['sidecar back to life', { initContainerStatuses: [ended('side', 1)] }, { initContainerStatuses: [alive('side')] }],
  [
    'unknown claim',
    {},
    { resourceClaimStatuses: [{ name: 'x' }] },
    'FieldValueInvalid status.resourceClaimStatuses[0].name',
  ],
  ['both families', {}, { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }],
];

for (const [what, before, after, ...expected] of reports) {
  test(`status: ${what}`, () => {
    const outcome = updated(stored(running, before), { ...running, status: after }, podStatusView);
    assert.deepEqual(causes(outcome), expected);
  });
}

test('status: containers that may restart do so', () => {
  for (const [restartPolicy, exitCode, allowed] of [
    ['Always', 0, true],
    ['OnFailure', 1, true],
    ['OnFailure', 0, false],
  ] as const) {
    const sent = podWith({ restartPolicy });
    const old = stored(sent, { containerStatuses: [ended('app', exitCode)] });
    const { errors } = updated(old, { ...sent, status: { containerStatuses: [alive('app')] } }, podStatusView);
    assert.equal(errors.length === 0, allowed, `${restartPolicy} ${exitCode}`);
  }
});

test('ephemeralcontainers: one is added, and nothing else', () => {
  const old = stored(podWith({}, { labels: { a: '1' } }));
  const sent = {
    ...podWith(
      { hostname: 'x', ephemeralContainers: [debug] },
      { labels: { a: '2' }, generateName: 'x-', deletionGracePeriodSeconds: 1 },
    ),
    status: { phase: 'Failed' },
  };
  const { object, pod, errors } = updated(old, sent, podEphemeralContainersView);
  assert.deepEqual(errors, []);
  const { ephemeralContainers, ...spec } = pod.spec ?? {};
  assert.deepEqual(spec, old['spec']);
  assert.deepEqual(
    ephemeralContainers?.map(({ name, imagePullPolicy }) => [name, imagePullPolicy]),
    [['debug', 'Always']],
  );
  assert.deepEqual(object.metadata, old.metadata);
  assert.deepEqual(object['status'], old['status']);
});

const e = 'spec.ephemeralContainers';
const additions: readonly (readonly [string, Sent, ...string[]])[] = [
  ['a second one', withDebug(debug, { name: 'more', image: 'x', targetContainerName: 'app' })],
  ['removed', withDebug(), `FieldValueForbidden ${e}`],
  ['changed', withDebug({ ...debug, image: 'other' }), `FieldValueForbidden ${e}`],
  ['name of a container', withDebug(debug, { name: 'app', image: 'x' }), `FieldValueDuplicate ${e}[1].name`],
  [
    'unknown target',
    withDebug(debug, { name: 'b', image: 'x', targetContainerName: 'none' }),
    `FieldValueNotFound ${e}[1].targetContainerName`,
  ],
  [
    'with ports',
    withDebug(debug, { name: 'b', image: 'x', ports: [{ containerPort: 1 }] }),
    `FieldValueForbidden ${e}[1].ports`,
  ],
  [
    'with resources',
    withDebug(debug, { name: 'b', image: 'x', resources: { limits: { cpu: 1 } } }),
    `FieldValueForbidden ${e}[1].resources`,
  ],
  [
    'with a probe',
    withDebug(debug, { name: 'b', image: 'x', livenessProbe: { grpc: { port: 1 } } }),
    `FieldValueForbidden ${e}[1].livenessProbe`,
  ],
  ['without image', withDebug(debug, { name: 'b' }), `FieldValueRequired ${e}[1].image`],
];

for (const [what, sent, ...expected] of additions) {
  test(`ephemeralcontainers: ${what}`, () => {
    const old = updated(stored(podWith({})), withDebug(debug), podEphemeralContainersView).object;
    assert.deepEqual(causes(updated(old, sent, podEphemeralContainersView)), expected);
  });
}

test('ephemeralcontainers: mirror pods may have none', () => {
  const old = stored(podWith({ nodeName: 'n' }, { annotations: { 'orch.io/config.mirror': 'x' } }));
  assert.deepEqual(causes(updated(old, withDebug(debug), podEphemeralContainersView)), ['FieldValueForbidden ']);
});

test('status: a node knows of no user of Linux in a pod of Windows', () => {
  const windows = podWith({ os: { name: 'windows' } });
  const status = { containerStatuses: [{ name: 'app', user: { linux: { uid: 1, gid: 1 } } }] };
  const outcome = updated(stored(windows), { ...windows, status }, podStatusView);
  assert.deepEqual(causes(outcome), ['FieldValueForbidden status.containerStatuses[0].linux']);
});

test('status: addresses come before users, and users before the health of resources', () => {
  const status = {
    podIPs: [{ ip: 'x' }],
    containerStatuses: [
      { name: 'app', user: { linux: { uid: -1, gid: 1 } }, allocatedResourcesStatus: [healthOf('gpu')] },
    ],
  };
  const { errors } = updated(stored(running), { ...running, status }, podStatusView);
  assert.deepEqual(
    errors.map(({ field }) => field),
    [
      'status.podIPs[0]',
      'status.containerStatuses[0].linux.uid',
      'status.containerStatuses[0].allocatedResourcesStatus[0].name',
    ],
  );
});
