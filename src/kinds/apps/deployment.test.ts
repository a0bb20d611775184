import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
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
import { create, filled, row, type Sent, viewOf } from '../strategy-fixture.ts';
import { deployment } from './deployment.ts';

const kind = deployment(orch);
const valid = { selector, template: template() };
const rolling = (rollingUpdate: Sent): Sent => ({ strategy: { type: 'RollingUpdate', rollingUpdate } });
const defaults = {
  replicas: 1,
  selector,
  template: fullTemplate(),
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
};

fills(kind, valid, {
  spec: { ...defaults, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } } },
  status: {},
});
fills(
  kind,
  { ...valid, ...rolling({ maxSurge: 0 }) },
  {
    spec: { ...defaults, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } } },
    status: {},
  },
);
fills(
  kind,
  { ...valid, strategy: { type: 'Recreate' } },
  { spec: { ...defaults, strategy: { type: 'Recreate' } }, status: {} },
);

const percent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

refusesSpecs(kind, valid, [
  ...badNumbers,
  ['no selector', { selector: undefined }, ['spec.selector: Required value', mismatch]],
  ...badSelectors('deployment'),
  ...unreadableSelectors('invalid label selector'),
  ...badTemplates('ReplicaSet'),
  [
    'an unknown strategy',
    { strategy: { type: 'Other' } },
    [
      'spec.strategy: Unsupported value: apps.DeploymentStrategy{Type:"Other", RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
  [
    'bounds of a strategy without them',
    { strategy: { type: 'Recreate', rollingUpdate: {} } },
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    'a text that is no percentage',
    rolling({ maxUnavailable: 'some' }),
    [
      `spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"some"}: ${percent}`,
    ],
  ],
  [
    'a surge that is no percentage',
    rolling({ maxSurge: '-1%' }),
    [
      `spec.strategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"-1%"}: ${percent}`,
    ],
  ],
  [
    'a negative bound',
    rolling({ maxUnavailable: -1 }),
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'more than all',
    rolling({ maxUnavailable: '101%' }),
    [
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
  ],
  [
    'no room to move',
    rolling({ maxUnavailable: '0%', maxSurge: 0 }),
    [
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"0%"}: may not be 0 when `maxSurge` is 0',
    ],
  ],
  [
    'no room to move, in numbers',
    rolling({ maxUnavailable: 0, maxSurge: 0 }),
    [
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0',
    ],
  ],
  [
    'a negative revisionHistoryLimit',
    { revisionHistoryLimit: -1 },
    ['spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'a negative deadline',
    { progressDeadlineSeconds: -1 },
    [
      'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
      'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds',
    ],
  ],
  [
    'a deadline before pods can be available',
    { minReadySeconds: 9, progressDeadlineSeconds: 9 },
    ['spec.progressDeadlineSeconds: Invalid value: 9: must be greater than minReadySeconds'],
  ],
]);

judgesChanges(kind, valid, [
  [
    'the selector',
    { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
    [
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Exists", Values:[]string(nil)}}}: field is immutable',
    ],
  ],
  ['the strategy', { strategy: { type: 'Recreate' } }, []],
  ['the template', { template: template({ containers: [{ name: 'd', image: 'i' }] }) }, []],
  ['a surge beyond all', rolling({ maxSurge: '300%' }), []],
]);

judgesStatuses(
  kind,
  valid,
  [
    [
      'consistent counts',
      {
        replicas: 3,
        updatedReplicas: 2,
        readyReplicas: 2,
        availableReplicas: 1,
        unavailableReplicas: 2,
        collisionCount: 2,
      },
      [],
    ],
    [
      'more updated pods than pods',
      { replicas: 1, updatedReplicas: 2, collisionCount: 1 },
      ['status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas'],
    ],
    [
      'more ready pods than pods',
      { replicas: 1, readyReplicas: 2, collisionCount: 1 },
      ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
    ],
    [
      'more available pods than ready ones',
      { replicas: 2, readyReplicas: 1, availableReplicas: 2, collisionCount: 1 },
      ['status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas'],
    ],
    [
      'a negative count',
      { unavailableReplicas: -1, collisionCount: 1 },
      ['status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    ['fewer collisions', { collisionCount: 0 }, ['status.collisionCount: Invalid value: 0: cannot be decremented']],
    ['no collisions any more', {}, ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ],
  { collisionCount: 1 },
);

test('Deployment: a write of the status leaves the labels', () => {
  const { object: old } = create(
    kind,
    filled(kind, { metadata: { labels: { a: '1' }, annotations: { b: '2' } }, spec: valid }),
  );
  const written = structuredClone(old);
  written.metadata.labels = { other: '1' };
  written.metadata.annotations = { other: '1' };
  viewOf(kind, 'status').prepareForUpdate?.(written, old, {
    dialect: orch,
    user: { username: '', uid: '', groups: [], extra: {} },
    now: 0,
    requested: kind,
  });
  assert.deepEqual([written.metadata.labels, written.metadata.annotations], [{ a: '1' }, { other: '1' }]);
});

test('Deployment: columns', () => {
  assert.deepEqual(
    row(kind, {
      spec: { replicas: 4, ...valid },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    }),
    {
      ...{ Name: 'one', Ready: '2/4', 'Up-to-date': 3, Available: 1, Age: '<unknown>' },
      ...{ '*Containers': 'c', '*Images': 'img:1', '*Selector': 'app=x' },
    },
  );
});
