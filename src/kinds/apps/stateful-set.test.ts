import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import {
  badNumbers,
  badSelectors,
  badTemplates,
  fills,
  fullTemplate,
  judgesChanges,
  judgesStatuses,
  mismatch,
  refusesSpecs,
  selector,
  template,
  unreadableSelectors,
} from '../core/pod/owner-rules-fixture.ts';
import { create, filled, row } from '../strategy-fixture.ts';
import { statefulSet } from './stateful-set.ts';

const kind = statefulSet(orch);
const valid = { serviceName: 's', selector, template: template() };
const defaults = {
  replicas: 1,
  serviceName: 's',
  selector,
  template: fullTemplate(),
  podManagementPolicy: 'OrderedReady',
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  revisionHistoryLimit: 10,
  persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
};
const status = { availableReplicas: 0, replicas: 0 };
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const mounted = template({
  containers: [{ name: 'c', image: 'img:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
});

fills(kind, valid, { spec: defaults, status });
fills(
  kind,
  { ...valid, updateStrategy: { type: 'RollingUpdate' } },
  { spec: { ...defaults, updateStrategy: { type: 'RollingUpdate' } }, status },
);
fills(
  kind,
  { ...valid, persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } },
  {
    spec: { ...defaults, persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' } },
    status,
  },
);
fills(
  kind,
  { ...valid, volumeClaimTemplates: [claim] },
  {
    spec: {
      ...defaults,
      volumeClaimTemplates: [
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: { creationTimestamp: null, name: 'data' },
          spec: { ...claim.spec, volumeMode: 'Filesystem' },
          status: { phase: 'Pending' },
        },
      ],
    },
    status,
  },
);

test('StatefulSet: amounts of claims are whole thousandths', () => {
  const resources = { requests: { storage: '1Gi', cpu: '1.5m' }, limits: { cpu: '100u' } };
  const { object } = create(
    kind,
    filled(kind, { spec: { ...valid, volumeClaimTemplates: [{ ...claim, spec: { ...claim.spec, resources } }] } }),
  );
  const [made] = (object['spec'] as { volumeClaimTemplates: { spec: { resources: unknown } }[] }).volumeClaimTemplates;
  assert.deepEqual(made?.spec.resources, { requests: { storage: '1Gi', cpu: '2m' }, limits: { cpu: '1m' } });
});

test('StatefulSet: claims are checked when they are made', () => {
  const volumeClaimTemplates = [{ ...claim, spec: { ...claim.spec, volumeMode: 'x' } }];
  assert.deepEqual(create(kind, filled(kind, { spec: { ...valid, volumeClaimTemplates } })).errors, []);
});

test('StatefulSet: pods mount the volumes of their claims', () => {
  assert.deepEqual(
    create(kind, filled(kind, { spec: { ...valid, template: mounted, volumeClaimTemplates: [claim] } })).errors,
    [],
  );
});

const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
const unavailable = 'spec.updateStrategy.rollingUpdate.maxUnavailable';
const keeps =
  "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

test('StatefulSet: its name is a DNS label, as those of its pods are made of it', () => {
  assert.equal(kind.nameFormat, 'dnsLabel');
});

refusesSpecs(kind, valid, [
  ...badNumbers,
  [
    'a negative ordinal',
    { ordinals: { start: -1 } },
    ['spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'an unknown strategy',
    { updateStrategy: { type: 'Recreate' } },
    [
      `spec.updateStrategy: Invalid value: apps.StatefulSetUpdateStrategy{Type:"Recreate", RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}: must be 'RollingUpdate' or 'OnDelete'`,
    ],
  ],
  [
    'bounds of a strategy without them',
    { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
    [
      `spec.updateStrategy.rollingUpdate: Invalid value: apps.RollingUpdateStatefulSetStrategy{Partition:1, MaxUnavailable:(*intstr.IntOrString)(nil)}: only allowed for updateStrategy 'RollingUpdate'`,
    ],
  ],
  [
    'a negative partition',
    rolling({ partition: -1 }),
    ['spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'nothing to move',
    rolling({ maxUnavailable: 0 }),
    [`${unavailable}: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: cannot be 0`],
  ],
  [
    'more than all',
    rolling({ maxUnavailable: '101%' }),
    [
      `${unavailable}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
    ],
  ],
  [
    'an unknown retention',
    { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Keep' } },
    [
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
    ],
  ],
  [
    'a label of the template',
    { template: template({}, { app: 'x', b: 'a b' }) },
    ['spec.template.labels: Invalid value: "a b": a valid label must be'],
  ],
  ...badTemplates('StatefulSet'),
  ...unreadableSelectors(''),
]);

for (const [what, spec, errors] of [
  ['no selector', { selector: undefined }, ['spec.selector: Required value', mismatch]],
  ...badSelectors('statefulset'),
  [
    'an unknown way to manage pods',
    { podManagementPolicy: 'Any' },
    [`spec.podManagementPolicy: Invalid value: "Any": must be 'OrderedReady' or 'Parallel'`],
  ],
] as const) {
  test(`StatefulSet: ${what} is refused`, () => {
    assert.deepEqual(create(kind, filled(kind, { spec: { ...valid, ...spec } })).errors, errors);
  });
}

judgesChanges(kind, valid, [
  ['the selector', { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }, [keeps]],
  ['the service', { serviceName: 't' }, [keeps]],
  ['the way to manage pods', { podManagementPolicy: 'Parallel' }, [keeps]],
  ['the length of the history', { revisionHistoryLimit: 1 }, [keeps]],
  ['the claims', { volumeClaimTemplates: [claim] }, [keeps]],
  ['the number of replicas', { replicas: 3 }, []],
  ['the first ordinal', { ordinals: { start: 1 } }, []],
  ['the template', { template: template({ containers: [{ name: 'd', image: 'i' }] }) }, []],
  ['the strategy', { updateStrategy: { type: 'OnDelete' } }, []],
  ['the retention', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } }, []],
  ['minReadySeconds', { minReadySeconds: 5 }, []],
]);

const above = 'cannot be greater than status.replicas';
judgesStatuses(
  kind,
  valid,
  [
    [
      'consistent counts',
      {
        replicas: 3,
        readyReplicas: 2,
        currentReplicas: 2,
        updatedReplicas: 1,
        availableReplicas: 1,
        collisionCount: 1,
      },
      [],
    ],
    [
      'more ready pods than pods',
      { replicas: 1, readyReplicas: 2, collisionCount: 1 },
      [`status.readyReplicas: Invalid value: 2: ${above}`],
    ],
    [
      'more current pods than pods',
      { replicas: 1, currentReplicas: 2, collisionCount: 1 },
      [`status.currentReplicas: Invalid value: 2: ${above}`],
    ],
    [
      'more updated pods than pods',
      { replicas: 1, updatedReplicas: 2, collisionCount: 1 },
      [`status.updatedReplicas: Invalid value: 2: ${above}`],
    ],
    [
      'more available pods than ready ones',
      { replicas: 2, readyReplicas: 1, availableReplicas: 2, collisionCount: 1 },
      ['status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas'],
    ],
    ['fewer collisions', { collisionCount: 0 }, ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ],
  { ...status, collisionCount: 1 },
);

test('StatefulSet: columns', () => {
  assert.deepEqual(row(kind, { spec: { replicas: 4, ...valid }, status: { readyReplicas: 2 } }), {
    Name: 'one',
    Ready: '2/4',
    Age: '<unknown>',
    '*Containers': 'c',
    '*Images': 'img:1',
  });
});

test('StatefulSet: claims that ask for parts of bytes get a warning at each write', () => {
  const volumeClaimTemplates = [{ ...claim, spec: { ...claim.spec, resources: { requests: { storage: '1500m' } } } }];
  const { object } = create(kind, filled(kind, { spec: { ...valid, volumeClaimTemplates } }));
  const text = 'fractional byte value "1500m" is invalid, must be an integer';
  const { warnings = () => [] } = kind.strategy;
  assert.deepEqual(warnings(object, undefined), [`spec.volumeClaimTemplates[0].resources.requests[storage]: ${text}`]);
  assert.deepEqual(warnings(object, object), [
    `spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: ${text}`,
  ]);
});

test('StatefulSet: errors in the published order', async () => {
  await using fixture = await RegistryFixture.open();
  const { details } = await fixture.refusal('POST', '/apis/apps/v1/namespaces/n/statefulsets', {
    metadata: { name: 's' },
    spec: {
      ...{ replicas: -1, minReadySeconds: -1, ordinals: { start: -1 }, podManagementPolicy: 'None' },
      ...{ updateStrategy: { type: 'None' }, persistentVolumeClaimRetentionPolicy: { whenScaled: 'None' } },
      template: template({ restartPolicy: 'Never' }),
    },
  });
  assert.deepEqual(
    details?.causes?.map(({ field }) => field),
    [
      ...['podManagementPolicy', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy.whenScaled', 'replicas'],
      ...['minReadySeconds', 'ordinals.start', 'selector', 'template.metadata.labels', 'template.spec.restartPolicy'],
    ].map((name) => `spec.${name}`),
  );
});
