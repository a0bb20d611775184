import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../../dialect/kubernetes.ts';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { placedNode } from '../placement.ts';
import {
  affinityTo,
  type DaemonNode,
  daemonCounts,
  daemonTolerations,
  type Fit,
  fitOf,
  nodeWork,
  type Rollout,
  rolloutStep,
  targetNode,
} from './daemon-nodes.ts';
import { FailedPods } from './failed-pods.ts';

const nodeOf = (taints: readonly object[] = [], labels: Record<string, string> = {}) =>
  placedNode({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels }, spec: { taints } });
const taint = (key: string, effect: string) => ({ key, effect });
const under = (name: string): string => `node.${kubernetes.domain}/${name}`;

describe('whether a daemon runs on a node', () => {
  for (const [what, spec, node, expected] of [
    ['any node', {}, nodeOf(), 'run'],
    ['the node by name', { nodeName: 'n1' }, nodeOf(), 'run'],
    ['another node by name', { nodeName: 'n2' }, nodeOf(), 'none'],
    ['selected', { nodeSelector: { a: 'b' } }, nodeOf([], { a: 'b' }), 'run'],
    ['not selected', { nodeSelector: { a: 'b' } }, nodeOf(), 'none'],
    ['affinity to it', { affinity: affinityTo({ containers: [] }, 'n1') }, nodeOf(), 'run'],
    ['affinity to another', { affinity: affinityTo({ containers: [] }, 'n2') }, nodeOf(), 'none'],
    ['a taint that keeps new ones away', {}, nodeOf([taint('k', 'NoSchedule')]), 'stay'],
    ['a taint that drives out', {}, nodeOf([taint('k', 'NoExecute')]), 'none'],
    ['a preference', {}, nodeOf([taint('k', 'PreferNoSchedule')]), 'run'],
    ['tolerated', { tolerations: [{ operator: 'Exists' }] }, nodeOf([taint('k', 'NoExecute')]), 'run'],
    ['not ready', {}, nodeOf([taint(under('not-ready'), 'NoExecute')]), 'run'],
    ['not ready yet', {}, nodeOf([taint(under('not-ready'), 'NoSchedule')]), 'stay'],
    ['unreachable', {}, nodeOf([taint(under('unreachable'), 'NoExecute')]), 'run'],
    ['closed', {}, nodeOf([taint(under('unschedulable'), 'NoSchedule')]), 'run'],
    ['without a network', {}, nodeOf([taint(under('network-unavailable'), 'NoSchedule')]), 'stay'],
    [
      'on the network of the node',
      { hostNetwork: true },
      nodeOf([taint(under('network-unavailable'), 'NoSchedule')]),
      'run',
    ],
  ] as const) {
    it(what, () =>
      assert.equal(
        fitOf({ spec: { containers: [], ...spec } as NonNullable<Pod['spec']> }, node, kubernetes),
        expected,
      ),
    );
  }
});

it('tolerations of the template stay, and none is there twice', () => {
  const own = { key: 'k', operator: 'Exists' } as const;
  const twice = { key: under('not-ready'), operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 } as const;
  const all = daemonTolerations({ containers: [], tolerations: [own, twice] }, kubernetes);
  assert.deepEqual(all[0], own);
  assert.equal(all.length, 7);
  assert.deepEqual(
    all.filter(({ key }) => key === under('not-ready')).map(({ tolerationSeconds }) => tolerationSeconds),
    [undefined],
  );
});

it('a pod is on its node, or on that of its affinity', () => {
  assert.equal(
    targetNode({ spec: { containers: [], nodeName: 'a', affinity: affinityTo({ containers: [] }, 'b') } }),
    'a',
  );
  assert.equal(targetNode({ spec: { containers: [], affinity: affinityTo({ containers: [] }, 'b') } }), 'b');
  assert.equal(targetNode({ spec: { containers: [] } }), undefined);
});

/**
 * Pods as words: the name, of the present template if it is upper case; then `+` if it is available, `-` if it is going, `!` if it
 * failed, `.` if it is not bound. The order is that of creation.
 */
const podsOf = (text: string): readonly Pod[] =>
  text
    .split(' ')
    .filter((word) => word !== '')
    .map((word, index) => ({
      metadata: {
        name: word.replace(/\W/g, ''),
        creationTimestamp: new Date(index * 1_000).toISOString(),
        ...(word.includes('-') && { deletionTimestamp: new Date(0).toISOString() }),
      },
      spec: { containers: [], ...(!word.includes('.') && { nodeName: 'n' }) },
      status: {
        phase: word.includes('!') ? 'Failed' : 'Running',
        conditions: word.includes('+')
          ? [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0).toISOString() }]
          : [],
      },
    }));
const nodeWith = (pods: string, fit: Fit = 'run', exists = true, name = 'n'): DaemonNode => ({
  ...{ name, fit, exists, pods: podsOf(pods) },
});
const rolloutOf = (maxSurge: number, maxUnavailable = 0, more: Partial<Rollout> = {}): Rollout => ({
  isUpdated: ({ metadata }) => /^[A-Z]/.test(metadata?.name ?? ''),
  ...{ minReadySeconds: 0, nowMs: 1_000_000, maxSurge, maxUnavailable, ...more },
});
const names = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata?.name).join(' ');

describe('work on one node', () => {
  for (const [what, node, surge, expected] of [
    ['no pod', nodeWith(''), 0, [true, '', '']],
    ['no pod, no new ones', nodeWith('', 'stay'), 0, [false, '', '']],
    ['one', nodeWith('a'), 0, [false, '', '']],
    ['two', nodeWith('a b+'), 0, [false, 'b', '']],
    ['two, the older one is not bound', nodeWith('a. b'), 0, [false, 'a', '']],
    ['one that is going', nodeWith('a-'), 0, [false, '', '']],
    ['one that failed', nodeWith('a!'), 0, [false, '', 'a']],
    ['one that failed where none is made', nodeWith('a!', 'stay'), 0, [false, '', 'a']],
    ['where none should be', nodeWith('a b!', 'none'), 0, [false, 'a b', '']],
    ['on a node that is gone', nodeWith('a b.', 'none', false), 0, [false, 'b', '']],
    ['surge: one that is going', nodeWith('a-'), 1, [true, '', '']],
    ['surge: a new one beside one that is ready', nodeWith('a+ B'), 1, [false, '', '']],
    ['surge: a new one that is available', nodeWith('a+ B+'), 1, [false, 'a', '']],
    ['surge: neither is ready', nodeWith('a B'), 1, [false, 'a', '']],
    ['surge: too many of each', nodeWith('a+ B C d+'), 1, [false, 'C d', '']],
  ] as const) {
    it(what, () => {
      const { isMissing, surplus, ended } = nodeWork(node, rolloutOf(surge));
      assert.deepEqual([isMissing, names(surplus), names(ended)], expected);
    });
  }
});

describe('steps of a rolling update', () => {
  for (const [what, nodes, bounds, remove, create] of [
    ['as many as may be missing', ['a+', 'b+', 'c+'], [0, 2], 'a b', ''],
    ['a new one is missing yet', ['A', 'b+', 'c+'], [0, 1], '', ''],
    ['a node without a pod counts', ['', 'b+', 'c+'], [0, 2], 'b', ''],
    ['what is not available goes first', ['a+', 'b', 'c'], [0, 1], 'b c', ''],
    ['one of both is left alone', ['a+ B', 'c+'], [0, 1], '', ''],
    ['everything is new', ['A+', 'B+'], [0, 1], '', ''],
    ['surge: as many as are allowed', ['a+', 'b+', 'c+'], [2, 0], '', '0 1'],
    ['surge: one is on its way', ['a+ B', 'c+'], [1, 0], '', ''],
    ['surge: one has come', ['a+ B+', 'c+'], [1, 0], 'a', '1'],
    ['surge: beside one that is not available', ['a', 'c+'], [1, 0], '', '0 1'],
  ] as const) {
    it(what, () => {
      const all = nodes.map((pods, index) => nodeWith(pods, 'run', true, `${index}`));
      const step = rolloutStep(all, rolloutOf(bounds[0], bounds[1]));
      assert.deepEqual([names(step.remove), step.create.join(' ')], [remove, create]);
    });
  }

  it('surge: pods where none should be go when enough others are available', () => {
    const off = nodeWith('a+', 'stay', true, 'off');
    assert.deepEqual(names(rolloutStep([off, nodeWith('B')], rolloutOf(1)).remove), '');
    assert.deepEqual(names(rolloutStep([off, nodeWith('B+')], rolloutOf(1)).remove), 'a');
    assert.deepEqual(names(rolloutStep([nodeWith('a', 'stay'), nodeWith('B')], rolloutOf(1)).remove), 'a');
  });
});

it('counts of the status', () => {
  const nodes = [
    nodeWith('A+'),
    nodeWith('b+ C'),
    nodeWith('D'),
    nodeWith(''),
    nodeWith('e+', 'stay'),
    nodeWith('', 'none'),
    nodeWith('f', 'none', false),
  ];
  assert.deepEqual(daemonCounts(nodes, rolloutOf(0)), {
    ...{ desiredNumberScheduled: 4, currentNumberScheduled: 3, numberMisscheduled: 1, numberReady: 2 },
    ...{ updatedNumberScheduled: 2, numberAvailable: 2, numberUnavailable: 2 },
  });
  const late = daemonCounts(nodes, rolloutOf(0, 0, { minReadySeconds: 5_000 }));
  assert.deepEqual([late.numberReady, late.numberAvailable, late.numberUnavailable], [2, undefined, 4]);
});

it('pauses between failed pods of a node double, for each node by itself, and end with the generation', () => {
  const failed = new FailedPods();
  failed.prune(1, 0);
  assert.deepEqual(
    [0, 500, 1_000, 2_000, 3_000].map((now) => failed.waitMs('a', now)),
    [0, 500, 0, 1_000, 0],
  );
  assert.equal(failed.waitMs('b', 3_000), 0);
  failed.prune(1, 3_001);
  assert.equal(failed.waitMs('a', 3_001), 3_999);
  failed.prune(2, 3_001);
  assert.equal(failed.waitMs('a', 3_001), 0);
});
