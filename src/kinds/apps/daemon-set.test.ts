import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import {
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
} from '../core/pod/owner-rules-fixture.ts';
import { create, filled, row, type Sent, update } from '../strategy-fixture.ts';
import { daemonSet } from './daemon-set.ts';

const kind = daemonSet(orch);
const valid = { selector, template: template() };
const rolling = (rollingUpdate: Sent): Sent => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
const status = { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 };

fills(kind, valid, {
  spec: {
    selector,
    template: fullTemplate(),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    revisionHistoryLimit: 10,
  },
  status,
});
fills(
  kind,
  { ...valid, updateStrategy: { type: 'OnDelete' } },
  {
    spec: { selector, template: fullTemplate(), updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 10 },
    status,
  },
);

const bound = 'spec.updateStrategy.rollingUpdate';

refusesSpecs(kind, valid, [
  ['no selector', { selector: undefined }, [mismatch]],
  ...badSelectors('daemonset'),
  ...badTemplates('DaemonSet'),
  [
    'an unknown strategy',
    { updateStrategy: { type: 'Recreate' } },
    [
      'spec.updateStrategy: Unsupported value: apps.DaemonSetUpdateStrategy{Type:"Recreate", RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}: supported values: "RollingUpdate", "OnDelete"',
    ],
  ],
  [
    'a text that is no percentage',
    rolling({ maxUnavailable: 'all' }),
    [
      `${bound}.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"all"}: a valid percent string`,
      `${bound}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
    ],
  ],
  [
    'a negative bound',
    rolling({ maxUnavailable: -1 }),
    [`${bound}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`],
  ],
  [
    'more than all',
    rolling({ maxUnavailable: '101%' }),
    [
      `${bound}.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
    ],
  ],
  [
    'a surge of more than all',
    rolling({ maxUnavailable: 0, maxSurge: '101%' }),
    [
      `${bound}.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
    ],
  ],
  [
    'two ways at once',
    rolling({ maxUnavailable: 1, maxSurge: 1 }),
    [
      `${bound}.maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:""}: may not be set when maxUnavailable is non-zero`,
    ],
  ],
  [
    'no room to move',
    rolling({ maxUnavailable: 0 }),
    [`${bound}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`],
  ],
  [
    'a negative minReadySeconds',
    { minReadySeconds: -1 },
    ['spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'a negative revisionHistoryLimit',
    { revisionHistoryLimit: -1 },
    ['spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
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
  ['the strategy', { updateStrategy: { type: 'OnDelete' } }, []],
]);

judgesStatuses(
  kind,
  valid,
  [
    ['counts', { ...status, numberAvailable: 5, collisionCount: 1 }, []],
    [
      'a negative count',
      { ...status, numberUnavailable: -1, collisionCount: 1 },
      ['status.numberUnavailable: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'fewer collisions',
      { ...status, collisionCount: 0 },
      ['status.collisionCount: Invalid value: 0: cannot be decremented'],
    ],
  ],
  { ...status, collisionCount: 1 },
);

const counter = 'deprecated.daemonset.template.generation';
const withCount = (count: string | undefined, rest: Sent = {}): Sent =>
  filled(kind, {
    metadata: { annotations: { ...(count !== undefined && { [counter]: count }) } },
    spec: { ...valid, ...rest },
  });

test('DaemonSet: templates are counted in an annotation that clients do not set', () => {
  const { object } = create(kind, withCount(undefined));
  assert.equal(object.metadata.annotations?.[counter], '1');
  assert.equal(create(kind, withCount('4')).object.metadata.annotations?.[counter], '4', 'a copy');
  assert.equal(create(kind, withCount('much')).object.metadata.annotations?.[counter], '1', 'no number');
  assert.equal(
    update(kind, object, withCount('7', { minReadySeconds: 1 })).object.metadata.annotations?.[counter],
    '1',
    'the same template',
  );
  assert.equal(
    update(kind, object, withCount(undefined, { template: template({ nodeName: 'n' }) })).object.metadata.annotations?.[
      counter
    ],
    '2',
    'another template',
  );
  assert.equal(
    update(kind, object, { ...withCount('9'), status }, 'status').object.metadata.annotations?.[counter],
    '1',
    'a write of the status',
  );
});

test('DaemonSet: columns', () => {
  const counts = {
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
  };
  assert.deepEqual(
    row(kind, { spec: { ...valid, template: template({ nodeSelector: { a: 'b' } }) }, status: counts }),
    {
      ...{
        Name: 'one',
        Desired: 5,
        Current: 4,
        Ready: 3,
        'Up-to-date': 2,
        Available: 1,
        'Node Selector': 'a=b',
        Age: '<unknown>',
      },
      ...{ '*Containers': 'c', '*Images': 'img:1', '*Selector': 'app=x' },
    },
  );
});
