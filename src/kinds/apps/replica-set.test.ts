import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { scaleOf } from '../autoscaling/scale.ts';
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
import { replicaSet } from './replica-set.ts';

const kind = replicaSet(orch);
const valid = { selector, template: template() };

fills(kind, valid, { spec: { replicas: 1, selector, template: fullTemplate() }, status: { replicas: 0 } });

refusesSpecs(kind, valid, [
  ...badNumbers,
  ['no selector', { selector: undefined }, ['spec.selector: Required value', mismatch]],
  ...badSelectors('deployment'),
  ...unreadableSelectors('invalid label selector'),
  [
    'no template',
    { template: undefined },
    [
      'spec.template.spec.containers: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
    ],
  ],
  [
    'a label of the template',
    { template: template({}, { app: 'x', b: 'a b' }) },
    ['spec.template.labels: Invalid value: "a b": a valid label must be'],
  ],
  ...badTemplates('ReplicaSet'),
  [
    'a bad container',
    { template: template({ containers: [{ name: 'A', image: 'i' }] }) },
    ['spec.template.spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label'],
  ],
]);

judgesChanges(kind, valid, [
  [
    'the selector',
    { selector: { matchLabels: { app: 'x', b: 'c' } }, template: template({}, { app: 'x', b: 'c' }) },
    [
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"x", "b":"c"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
  ],
  ['the number of replicas', { replicas: 3 }, []],
  ['the template', { template: template({ containers: [{ name: 'd', image: 'i' }] }) }, []],
]);

judgesStatuses(kind, valid, [
  [
    'consistent counts',
    { replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 2, availableReplicas: 1, observedGeneration: 1 },
    [],
  ],
  [
    'a negative count',
    { replicas: 0, availableReplicas: -1 },
    ['status.availableReplicas: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'more labelled pods than pods',
    { replicas: 1, fullyLabeledReplicas: 2 },
    ['status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas'],
  ],
  [
    'more ready pods than pods',
    { replicas: 1, readyReplicas: 2 },
    ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
  ],
  [
    'more available pods than pods',
    { replicas: 1, readyReplicas: 1, availableReplicas: 2 },
    [
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
    ],
  ],
]);

test('ReplicaSet: columns', () => {
  const status = { replicas: 3, readyReplicas: 2 };
  assert.deepEqual(row(kind, { spec: { replicas: 4, ...valid }, status }), {
    ...{ Name: 'one', Desired: 4, Current: 3, Ready: 2, Age: '<unknown>' },
    ...{ '*Containers': 'c', '*Images': 'img:1', '*Selector': 'app=x' },
  });
});

const selectors = [
  [{ matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
  [
    {
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['y', 'x'] },
        { key: 'd', operator: 'DoesNotExist' },
        { key: 'b', operator: 'Exists' },
        { key: 'a', operator: 'NotIn', values: ['z'] },
      ],
    },
    'a notin (z),b,c in (x,y),!d',
  ],
] as const;

for (const [given, text] of selectors) {
  test(`ReplicaSet: the Scale has the selector ${text}`, () => {
    const found = kind.subresources.find((each) => each.type === 'scale');
    assert.ok(found);
    const { object } = create(kind, filled(kind, { spec: { ...valid, replicas: 2, selector: given } }));
    const { spec, status } = scaleOf(object, found);
    assert.deepEqual({ spec, status }, { spec: { replicas: 2 }, status: { replicas: 0, selector: text } });
  });
}

const names = [
  [
    'a.b',
    [
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ],
  ],
  ['a-b', []],
] as const;

for (const [name, texts] of names) {
  test(`ReplicaSet: ${texts.length} warnings about the name ${name}`, () => {
    assert.deepEqual(
      kind.strategy.warnings?.(create(kind, filled(kind, { metadata: { name }, spec: valid })).object, undefined),
      texts,
    );
  });
}

test('ReplicaSet: no field but those of all kinds is selected', () => assert.deepEqual(kind.selectableFields, []));
