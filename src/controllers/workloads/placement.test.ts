import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../kinds/core/pod/pod-spec.ts';
import { mayRunOn, placedNode } from './placement.ts';

const closed = 'node.example.com/unschedulable';
const nodeOf = (spec: object = {}, labels: Record<string, string> = {}) =>
  placedNode({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels }, spec });
const affinity = (...terms: readonly object[]): Partial<PodSpec> => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...terms] } } },
});
const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, values }],
});
const named = (name: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] });
const taints = (...effects: readonly string[]) => ({
  taints: effects.map((effect) => ({ key: 'k', value: 'v', effect })),
});
const disk = { disk: 'ssd', size: '10' };

describe('whether a pod may be placed on a node', () => {
  for (const [what, spec, node, expected] of [
    ['any', {}, nodeOf(), true],
    ['with labels that are asked for', { nodeSelector: { disk: 'ssd' } }, nodeOf({}, disk), true],
    ['with other labels', { nodeSelector: { disk: 'hdd' } }, nodeOf({}, disk), false],
    ['without labels', { nodeSelector: { disk: 'ssd' } }, nodeOf(), false],
    ['affinity: In', affinity(expression('disk', 'In', 'hdd', 'ssd')), nodeOf({}, disk), true],
    ['affinity: NotIn', affinity(expression('disk', 'NotIn', 'ssd')), nodeOf({}, disk), false],
    ['affinity: NotIn without the label', affinity(expression('disk', 'NotIn', 'ssd')), nodeOf(), true],
    ['affinity: Exists', affinity(expression('disk', 'Exists')), nodeOf(), false],
    ['affinity: DoesNotExist', affinity(expression('disk', 'DoesNotExist')), nodeOf(), true],
    ['affinity: Gt', affinity(expression('size', 'Gt', '9')), nodeOf({}, disk), true],
    ['affinity: Lt', affinity(expression('size', 'Lt', '9')), nodeOf({}, disk), false],
    ['affinity: Gt of no number', affinity(expression('disk', 'Gt', '9')), nodeOf({}, disk), false],
    ['affinity: one term of several', affinity(expression('disk', 'Exists'), named('n1')), nodeOf(), true],
    ['affinity: by name, as of daemon sets', affinity(named('n2')), nodeOf(), false],
    ['affinity: an empty term', affinity({}), nodeOf(), false],
    ['affinity: no term', affinity(), nodeOf(), false],
    ['a taint', {}, nodeOf(taints('NoSchedule')), false],
    ['a taint that is a preference', {}, nodeOf(taints('PreferNoSchedule')), true],
    ['a taint for running pods', {}, nodeOf(taints('NoExecute')), false],
    [
      'a tolerated taint',
      { tolerations: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] },
      nodeOf(taints('NoSchedule')),
      true,
    ],
    [
      'tolerated with any effect',
      { tolerations: [{ key: 'k', operator: 'Exists' }] },
      nodeOf(taints('NoSchedule', 'NoExecute')),
      true,
    ],
    [
      'tolerated with another effect',
      { tolerations: [{ key: 'k', value: 'v', effect: 'NoExecute' }] },
      nodeOf(taints('NoSchedule')),
      false,
    ],
    ['tolerated with another value', { tolerations: [{ key: 'k', value: 'w' }] }, nodeOf(taints('NoSchedule')), false],
    ['all taints tolerated', { tolerations: [{ operator: 'Exists' }] }, nodeOf(taints('NoSchedule')), true],
    ['closed', {}, nodeOf({ unschedulable: true }), false],
    [
      'closed, and that is tolerated',
      { tolerations: [{ key: closed, operator: 'Exists' }] },
      nodeOf({ unschedulable: true }),
      true,
    ],
  ] as const) {
    it(what, () =>
      assert.equal(mayRunOn({ spec: { containers: [], ...(spec as Partial<PodSpec>) } }, node, closed), expected),
    );
  }
});
