import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { selectedFields } from '../../../cache/selected-fields-fixture.ts';
import { containerWith, kind, podWith, type Sent, stored } from './pod-fixture.ts';

const graceOf = (spec: Sent, status: Sent, requested?: number): number | undefined =>
  kind.strategy.gracePeriodSeconds?.(stored(podWith(spec), status), requested);

const assigned = { nodeName: 'n' };

const graces: readonly (readonly [string, Sent, Sent, number | undefined, number])[] = [
  ['no node has it', {}, {}, 60, 0],
  ['its own', assigned, { phase: 'Running' }, undefined, 30],
  ['as asked for', assigned, { phase: 'Running' }, 5, 5],
  ['at once', assigned, { phase: 'Running' }, 0, 0],
  ['succeeded', assigned, { phase: 'Succeeded' }, 60, 0],
  ['failed', assigned, { phase: 'Failed' }, undefined, 0],
  ['negative', { ...assigned, terminationGracePeriodSeconds: -5 }, {}, undefined, 1],
  ['for ever', { ...assigned, terminationGracePeriodSeconds: 2n ** 62n }, {}, undefined, limits.graceSecondsMax],
];

for (const [what, spec, status, requested, expected] of graces) {
  test(`grace period: ${what}`, () => {
    assert.equal(graceOf(spec, status, requested), expected);
  });
}

test('selectable fields of pods', () => {
  const object = stored(podWith({ nodeName: 'n', hostNetwork: true, serviceAccountName: 'a' }), {
    phase: 'Running',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    nominatedNodeName: 'm',
  });
  assert.deepEqual(selectedFields(kind, object), {
    'spec.nodeName': 'n',
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': 'a',
    'spec.hostNetwork': 'true',
    'status.phase': 'Running',
    'status.podIP': '10.0.0.1',
    'status.nominatedNodeName': 'm',
  });
  assert.equal(selectedFields(kind, stored(podWith({})))['spec.hostNetwork'], 'false');
});

test('warnings are given on create only', () => {
  const sent = containerWith({ env: [{ name: 'A' }, { name: 'B' }, { name: 'A' }] }, { imagePullSecrets: [{}] });
  const object = stored({ ...sent, metadata: { name: 'web.one', namespace: 'default' } });
  const warnings = kind.strategy.warnings?.(object, undefined) ?? [];
  assert.deepEqual(
    warnings.map((text) => text.split(':')[0]),
    ['metadata.name', 'spec.imagePullSecrets[0].name', 'spec.containers[0].env[2]'],
  );
  assert.deepEqual(kind.strategy.warnings?.(object, object), []);
});
