import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { garbageOf } from './pod-garbage-collector.ts';

type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';
const deletionTimestamp = '2026-01-01T00:00:00Z';
const podOf = (phase: Phase, nodeName: string, metadata: object = {}, reason?: string): Pod => ({
  metadata: { name: 'a', creationTimestamp: deletionTimestamp, ...metadata },
  spec: { containers: [], ...(nodeName !== '' && { nodeName }) },
  status: { phase, ...(reason !== undefined && { reason }) },
});
const nodeOf = (name: string, isReady: boolean, taints: readonly object[] = []) => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
  spec: { taints },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});
const outOfService = [{ key: 'node.orch.io/out-of-service', effect: 'NoExecute' }];
const nodes = new Map(
  [
    nodeOf('up', true),
    nodeOf('back', true, outOfService),
    nodeOf('down', false),
    nodeOf('out', false, outOfService),
  ].map((node) => [node.metadata.name, node]),
);
const surroundings = { nodes, gone: new Set(['gone']), kept: 2, dialect: orch };

describe('pods that nobody else will remove', () => {
  for (const [what, pod, reason] of [
    ['that runs', podOf('Running', 'up'), undefined],
    ['that waits for a node', podOf('Pending', ''), undefined],
    ['on a node that has just gone', podOf('Running', 'missing'), undefined],
    ['on a node that has been gone for long', podOf('Running', 'gone'), 'orphaned'],
    ['finished on a node that is gone', podOf('Succeeded', 'gone'), 'orphaned'],
    ['terminating without a node', podOf('Pending', '', { deletionTimestamp }), 'unscheduled'],
    ['terminating on a node', podOf('Running', 'up', { deletionTimestamp }), undefined],
    ['terminating on a node that is not ready', podOf('Running', 'down', { deletionTimestamp }), undefined],
    ['terminating on a node that is out of service', podOf('Running', 'out', { deletionTimestamp }), 'out-of-service'],
    ['terminating on a node that is back', podOf('Running', 'back', { deletionTimestamp }), undefined],
    ['that stays on a node that is out of service', podOf('Running', 'out'), undefined],
    ['one of few that have finished', podOf('Failed', 'up'), undefined],
  ] as const) {
    it(what, () => assert.equal(garbageOf([pod], surroundings).get(pod), reason));
  }

  it('of many finished ones those that were evicted go first, then the oldest', () => {
    const at = (day: number) => `2026-01-0${day}T00:00:00Z`;
    const pods = [
      podOf('Succeeded', 'up', { name: 'young', creationTimestamp: at(3) }),
      podOf('Failed', 'up', { name: 'evicted', creationTimestamp: at(4) }, 'Evicted'),
      podOf('Failed', 'up', { name: 'old', creationTimestamp: at(1) }),
      podOf('Running', 'up', { name: 'runs', creationTimestamp: at(1) }),
      podOf('Succeeded', 'up', { name: 'middle', creationTimestamp: at(2) }),
    ];
    const names = [...garbageOf(pods, surroundings)].map(([{ metadata }, reason]) => `${metadata?.name}: ${reason}`);
    assert.deepEqual(names, ['evicted: terminated', 'old: terminated']);
  });
});
