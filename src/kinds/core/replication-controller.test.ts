import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { scaleOf } from '../autoscaling/scale.ts';
import { create, filled, row, update } from '../strategy-fixture.ts';
import {
  badNumbers,
  badTemplates,
  fills,
  fullTemplate,
  judgesStatuses,
  mismatch,
  refusesSpecs,
  template,
} from './pod/owner-rules-fixture.ts';
import { replicationController } from './replication-controller.ts';

const kind = replicationController(orch);
const valid = { template: template() };

fills(kind, valid, {
  spec: { replicas: 1, selector: { app: 'x' }, template: fullTemplate() },
  status: { replicas: 0 },
});

test('ReplicationController: the labels of the template are the default of its own', () => {
  assert.deepEqual(create(kind, filled(kind, { spec: valid })).object.metadata.labels, { app: 'x' });
  assert.deepEqual(
    create(kind, filled(kind, { metadata: { labels: { a: 'b' } }, spec: valid })).object.metadata.labels,
    { a: 'b' },
  );
});

refusesSpecs(kind, valid, [
  ...badNumbers,
  ['no template', { template: undefined }, ['spec.selector: Required value', 'spec.template: Required value']],
  ['no labels', { template: template({}, {}) }, ['spec.selector: Required value']],
  ['a selector of other pods', { selector: { app: 'y' } }, [mismatch]],
  ['a selector that is none', { selector: { 'a b': 'c' } }, [mismatch]],
  ...badTemplates('ReplicationController'),
]);

test('ReplicationController: its selector may change', () => {
  const changed = { selector: { app: 'x', b: 'c' }, template: template({}, { app: 'x', b: 'c' }) };
  assert.deepEqual(update(kind, filled(kind, { spec: valid }), filled(kind, { spec: changed })).errors, []);
});

judgesStatuses(kind, valid, [
  ['consistent counts', { replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 2, availableReplicas: 1 }, []],
  [
    'more ready pods than pods',
    { replicas: 1, readyReplicas: 2 },
    ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
  ],
  [
    'more available pods than ready ones',
    { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
    ['status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas'],
  ],
]);

test('ReplicationController: the Scale has the selector as text', () => {
  const found = kind.subresources.find((each) => each.type === 'scale');
  assert.ok(found);
  const { object } = create(
    kind,
    filled(kind, { spec: { selector: { b: '2', a: '1' }, template: template({}, { a: '1', b: '2' }) } }),
  );
  assert.deepEqual(scaleOf(object, found)['status'], { replicas: 0, selector: 'a=1,b=2' });
});

test('ReplicationController: columns', () => {
  assert.deepEqual(
    row(kind, { spec: { replicas: 4, selector: { app: 'x' }, ...valid }, status: { replicas: 3, readyReplicas: 2 } }),
    {
      ...{ Name: 'one', Desired: 4, Current: 3, Ready: 2, Age: '<unknown>' },
      ...{ '*Containers': 'c', '*Images': 'img:1', '*Selector': 'app=x' },
    },
  );
});
