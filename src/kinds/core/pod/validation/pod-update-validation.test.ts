import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causes, kind, podWith, type Sent, stored, updated } from '../pod-fixture.ts';

const door = {
  prepareForUpdate: kind.strategy.prepareForUpdate ?? (() => {}),
  ...(kind.strategy.validateUpdate && { validateUpdate: kind.strategy.validateUpdate }),
};

const containers = [{ name: 'app', image: 'app:1' }];
const gates = [{ name: 'example.com/a' }, { name: 'example.com/b' }];
const required = (...nodeSelectorTerms: Sent[]): Sent => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
});
const ssd = { key: 'disk', operator: 'In', values: ['ssd'] };
const zone = { key: 'zone', operator: 'Exists' };
const toleration = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 };
const terms = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

/** Case, old spec, new spec, expected causes. */
const table: readonly (readonly [string, Sent, Sent, ...string[]])[] = [
  ['nothing', {}, {}],
  ['image', {}, { containers: [{ name: 'app', image: 'app:2' }] }],
  [
    'image with space',
    {},
    { containers: [{ name: 'app', image: 'app:2 ' }] },
    'FieldValueInvalid spec.containers[0].image',
  ],
  ['image of an init container', { initContainers: containersOf('i:1') }, { initContainers: containersOf('i:2') }],
  ['command', {}, { containers: [{ ...containers[0], command: ['x'] }] }, 'FieldValueForbidden spec'],
  ['host name', {}, { hostname: 'other' }, 'FieldValueForbidden spec'],
  ['node', {}, { nodeName: 'other' }, 'FieldValueForbidden spec'],
  ['ephemeral container', {}, { ephemeralContainers: [{ name: 'd', image: 'd' }] }, 'FieldValueForbidden spec'],
  [
    'further container',
    {},
    { containers: [...containers, { name: 'b', image: 'b' }] },
    'FieldValueForbidden spec.containers',
  ],
  ['no init container', { initContainers: containersOf('i') }, {}, 'FieldValueForbidden spec.initContainers'],
  ['deadline set', {}, { activeDeadlineSeconds: 10 }],
  ['deadline nearer', { activeDeadlineSeconds: 10 }, { activeDeadlineSeconds: 5 }],
  [
    'deadline farther',
    { activeDeadlineSeconds: 10 },
    { activeDeadlineSeconds: 11 },
    'FieldValueInvalid spec.activeDeadlineSeconds',
  ],
  ['deadline removed', { activeDeadlineSeconds: 10 }, {}, 'FieldValueInvalid spec.activeDeadlineSeconds'],
  ['toleration added', { tolerations: [toleration] }, { tolerations: [{ operator: 'Exists' }, toleration] }],
  ['toleration longer', { tolerations: [toleration] }, { tolerations: [{ ...toleration, tolerationSeconds: 20 }] }],
  [
    'toleration changed',
    { tolerations: [toleration] },
    { tolerations: [{ ...toleration, key: 'b' }] },
    'FieldValueForbidden spec.tolerations',
  ],
  ['toleration removed', { tolerations: [toleration] }, {}, 'FieldValueForbidden spec.tolerations'],
  ['grace period', {}, { terminationGracePeriodSeconds: 5 }, 'FieldValueForbidden spec'],
  ['grace period from negative to 1', { terminationGracePeriodSeconds: -1 }, { terminationGracePeriodSeconds: 1 }],
  ['gate removed', { schedulingGates: gates }, { schedulingGates: gates.slice(1) }],
  ['all gates removed', { schedulingGates: gates }, {}],
  ['gate added', {}, { schedulingGates: gates.slice(1) }, 'FieldValueForbidden spec.schedulingGates[0].name'],
  ['node label', {}, { nodeSelector: { a: '1' } }, 'FieldValueForbidden spec'],
  [
    'gated: node label added',
    { schedulingGates: gates, nodeSelector: { a: '1' } },
    { schedulingGates: gates, nodeSelector: { a: '1', b: '2' } },
  ],
  ['gated: node label added with the last gate gone', { schedulingGates: gates }, { nodeSelector: { a: '1' } }],
  [
    'gated: node label changed',
    { schedulingGates: gates, nodeSelector: { a: '1' } },
    { schedulingGates: gates, nodeSelector: { a: '2' } },
    'FieldValueInvalid spec.nodeSelector',
  ],
  [
    'gated: node affinity set',
    { schedulingGates: gates },
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }) },
  ],
  [
    'gated: node affinity narrower',
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }) },
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd, zone] }) },
  ],
  [
    'gated: node affinity changed',
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }) },
    { schedulingGates: gates, affinity: required({ matchExpressions: [zone] }) },
    `FieldValueInvalid ${terms}[0]`,
  ],
  [
    'gated: node term added',
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }) },
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }, { matchExpressions: [zone] }) },
    `FieldValueInvalid ${terms}`,
  ],
  [
    'gated: node affinity removed',
    { schedulingGates: gates, affinity: required({ matchExpressions: [ssd] }) },
    { schedulingGates: gates },
    `FieldValueInvalid ${terms}`,
  ],
  [
    'gated: pod affinity',
    { schedulingGates: gates },
    {
      schedulingGates: gates,
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z' }] } },
    },
    'FieldValueForbidden spec',
  ],
  [
    'not gated: node affinity',
    { affinity: required({ matchExpressions: [ssd] }) },
    { affinity: required({ matchExpressions: [ssd, zone] }) },
    'FieldValueForbidden spec',
  ],
];

function containersOf(image: string): Sent[] {
  return [{ name: 'init', image, imagePullPolicy: 'Always' }];
}

for (const [what, before, after, ...expected] of table) {
  test(`update: ${what}`, () => {
    assert.deepEqual(causes(updated(stored(podWith(before)), podWith(after), door)), expected);
  });
}

test('update: the error names what changed', () => {
  const { errors } = updated(stored(podWith({})), podWith({ hostname: 'other', priority: 5 }), door);
  const [error] = errors;
  assert.match(error?.detail ?? '', /^pod updates may not change fields other than `spec\.containers\[\*\]\.image`,/);
  assert.match(error?.detail ?? '', /\nchanged: spec\.hostname, spec\.priority$/);
});

test('update: the status is kept, metadata may change', () => {
  const old = stored(podWith({}), { phase: 'Running', podIP: '10.0.0.1' });
  const { object, errors } = updated(
    old,
    { ...podWith({}, { labels: { a: '1' } }), status: { phase: 'Failed' } },
    door,
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(object['status'], old['status']);
  assert.deepEqual(object.metadata.labels, { a: '1' });
});
