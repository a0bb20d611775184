import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { dialects } from '../../dialect/dialects.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { formatTime } from '../../meta/time.ts';
import { byDeletion } from './deletion-order.ts';

const hour = 3600_000;
const nowMs = Date.UTC(2026, 0, 1);
const node = (nodeName: string): Pod => ({ spec: { containers: [], nodeName } });
const phase = (value: 'Pending' | 'Unknown' | 'Running'): Pod => ({ ...node('n'), status: { phase: value } });
const readyFor = (ageMs: number, more: Pod['status'] = {}): Pod => ({
  ...node('n'),
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(nowMs - ageMs) }],
    ...more,
  },
});
const restarted = (restartCount: number, name = 'c') => [{ name, restartCount, image: '', imageID: '', ready: true }];
const created = (ageMs: number): Pod => ({
  ...readyFor(hour),
  metadata: { creationTimestamp: formatTime(nowMs - ageMs) },
});
const cost = (value: string, domain = 'kubernetes.io'): Pod => ({
  ...readyFor(hour),
  metadata: { annotations: { [`controller.${domain}/pod-deletion-cost`]: value } },
});
const sidecar = (restartCount: number): Pod => ({
  spec: { containers: [], nodeName: 'n', initContainers: [{ name: 's', restartPolicy: 'Always' }] },
  ...{ status: readyFor(hour, { initContainerStatuses: restarted(restartCount, 's') }).status ?? {} },
});

/** Rules of kube-controller-manager: of each pair the first is deleted first. */
const pairs: readonly (readonly [what: string, first: Pod, second: Pod])[] = [
  ['without a node', {}, node('n')],
  ['pending before unknown', phase('Pending'), phase('Unknown')],
  ['unknown before running', phase('Unknown'), phase('Running')],
  ['not ready', phase('Running'), readyFor(1_000)],
  ['lower cost', cost('-10'), cost('2')],
  ['a cost that is no number is none', cost('nonsense'), cost('1')],
  ['a cost of more than 32 bits is none', cost('2147483648'), cost('1')],
  ['ready for a shorter time', readyFor(hour), readyFor(8 * hour)],
  [
    'more restarts',
    readyFor(hour, { containerStatuses: restarted(3) }),
    readyFor(hour, { containerStatuses: restarted(1) }),
  ],
  ['more restarts of a sidecar', sidecar(2), sidecar(1)],
  ['younger', created(hour), created(8 * hour)],
  ['a node before no phase at all', { spec: { containers: [] }, status: { phase: 'Running' } }, phase('Pending')],
];

const order = { dialect: dialects.kubernetes, nowMs, related: [] };
const named = (pod: Pod, uid: string): Pod => ({ ...pod, metadata: { ...pod.metadata, uid } });
const inOrder = (...of: Parameters<typeof byDeletion>): readonly Pod[] => allAtOnce(byDeletion(...of));
const uids = (pods: readonly Pod[]): readonly (string | undefined)[] => pods.map(({ metadata }) => metadata?.uid);

describe('pods in the order of their deletion', () => {
  for (const [what, first, second] of pairs) {
    it(what, () => {
      // The uid decides between equals, so that it must not matter here.
      for (const [a, b] of [
        ['1', '2'],
        ['2', '1'],
      ] as const) {
        const [one, two] = [named(first, a), named(second, b)];
        assert.deepEqual(uids(inOrder([one, two], order)), [a, b]);
        assert.deepEqual(uids(inOrder([two, one], order)), [a, b]);
      }
    });
  }

  it('of about the same age: by uid, whatever the restarts', () => {
    const [one, two] = [
      named(readyFor(hour), 'a'),
      named(readyFor(hour + 1_000, { containerStatuses: restarted(9) }), 'b'),
    ];
    assert.deepEqual(uids(inOrder([two, one], order)), ['a', 'b']);
  });

  it('those on a node with more pods of the same controller', () => {
    const [crowded, alone] = [named(readyFor(8 * hour), 'a'), named({ ...readyFor(hour), ...node('m') }, 'b')];
    const related = [crowded, { ...readyFor(hour) }, alone];
    assert.deepEqual(uids(inOrder([alone, crowded], { ...order, related })), ['a', 'b']);
    assert.deepEqual(uids(inOrder([alone, crowded], order)), ['b', 'a']);
  });

  it('the annotation is that of the dialect', () => {
    const [one, two] = [named(cost('-10', 'orch.io'), 'b'), named(cost('-10'), 'a')];
    assert.deepEqual(uids(inOrder([two, one], { ...order, dialect: dialects.orch })), ['b', 'a']);
  });
});
