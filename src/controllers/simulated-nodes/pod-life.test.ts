import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { formatTime } from '../../meta/time.ts';
import { nextStep } from './pod-life.ts';
import { applyPatchTo } from './pod-life-fixture.ts';

const start = Date.UTC(2026, 0, 1);
const podOf = (spec: object = {}, annotations: Record<string, string> = {}): Pod => ({
  metadata: {
    name: 'a',
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [`simulation.orch.io/${name}`, value]),
    ),
  },
  spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Always', ...spec },
  status: { phase: 'Pending' },
});
const conditionOf = ({ status }: Pod, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted)?.status;

/** Lives through the steps that are due until this time; gives what happened, as `second: phase`. */
function live(pod: Pod, seconds: number): { readonly pod: Pod; readonly steps: readonly string[] } {
  const steps: string[] = [];
  let now = start;
  let current = pod;
  for (let turn = 0; turn < 50; turn++) {
    const step = nextStep(current, { podIP: '10.128.0.1', hostIP: '203.0.113.1' }, now);
    const at = (now - start) / 1_000;
    if (step.type === 'none') return { pod: current, steps };
    if (step.type === 'remove') return { pod: current, steps: [...steps, `${at}: removed`] };
    if (step.type === 'wait') {
      now += step.ms;
      if (now - start > seconds * 1_000) return { pod: current, steps };
      continue;
    }
    current = applyPatchTo(current, step.status);
    const [status] = current.status?.containerStatuses ?? [];
    const state = Object.keys(status?.state ?? {})[0];
    steps.push(`${at}: ${current.status?.phase} ${state} ready=${conditionOf(current, 'Ready')}`);
  }
  throw new Error('it never comes to rest');
}

describe('the life of a pod on a simulated node', () => {
  for (const [what, pod, expected] of [
    ['of a service', podOf(), ['0: Pending waiting ready=False', '1: Running running ready=True']],
    [
      'that starts late',
      podOf({}, { 'start-seconds': '7' }),
      ['0: Pending waiting ready=False', '7: Running running ready=True'],
    ],
    [
      'that is never ready',
      podOf({}, { ready: 'false' }),
      ['0: Pending waiting ready=False', '1: Running running ready=False'],
    ],
    [
      'that ends',
      podOf({ restartPolicy: 'Never' }),
      ['0: Pending waiting ready=False', '1: Running running ready=True', '6: Succeeded terminated ready=False'],
    ],
    [
      'that fails',
      podOf({ restartPolicy: 'Never' }, { 'run-seconds': '2', 'exit-code': '3' }),
      ['0: Pending waiting ready=False', '1: Running running ready=True', '3: Failed terminated ready=False'],
    ],
    [
      'that is restarted until it works',
      podOf({ restartPolicy: 'OnFailure' }, { 'run-seconds': '8', 'exit-code': '1' }),
      ['0: Pending waiting ready=False', '1: Running running ready=True', '9: Running running ready=True'],
    ],
    [
      'with a deadline',
      podOf({ activeDeadlineSeconds: 4 }),
      ['0: Pending waiting ready=False', '1: Running running ready=True', '4: Failed terminated ready=False'],
    ],
    [
      'with a deadline before its start',
      podOf({ activeDeadlineSeconds: 4 }, { 'start-seconds': '8' }),
      ['0: Pending waiting ready=False', '4: Failed terminated ready=False'],
    ],
    [
      'with nonsense in its annotations',
      podOf({}, { 'start-seconds': '-1' }),
      ['0: Pending waiting ready=False', '1: Running running ready=True'],
    ],
  ] as const) {
    it(what, () => assert.deepEqual(live(pod, 10).steps, expected));
  }

  it('has its own address and that of its node, from the beginning', () => {
    const begun = live(podOf(), 0.5).pod.status;
    assert.deepEqual(
      [begun?.hostIP, begun?.hostIPs, begun?.podIP],
      ['203.0.113.1', [{ ip: '203.0.113.1' }], undefined],
    );
    const { status } = live(podOf(), 10).pod;
    assert.deepEqual([status?.podIP, status?.podIPs], ['10.128.0.1', [{ ip: '10.128.0.1' }]]);
    assert.deepEqual([status?.hostIP, status?.hostIPs], ['203.0.113.1', [{ ip: '203.0.113.1' }]]);
  });

  it('counts restarts, and says how the last run ended', () => {
    const failing = podOf({ restartPolicy: 'OnFailure' }, { 'run-seconds': '2', 'exit-code': '1' });
    const first = live(failing, 2).pod.status?.containerStatuses?.[0];
    const { state, lastState, restartCount, containerID } = live(failing, 3).pod.status?.containerStatuses?.[0] ?? {};
    assert.match(first?.containerID ?? '', /^simulated:\/\/[0-9a-f]{64}$/);
    assert.notEqual(containerID, first?.containerID, 'each run has its own');
    assert.deepEqual(first?.lastState, {});
    assert.equal(restartCount, 1);
    assert.deepEqual(state, { running: { startedAt: formatTime(start + 3_000) } });
    assert.deepEqual(lastState, {
      terminated: {
        ...{ exitCode: 1, reason: 'Error', containerID: first?.containerID },
        ...{ startedAt: formatTime(start + 1_000), finishedAt: formatTime(start + 3_000) },
      },
    });
    assert.equal(live(failing, 10).pod.status?.containerStatuses?.[0]?.restartCount, 4);
  });

  it('keeps the ids of containers that have ended', () => {
    const ending = podOf({ restartPolicy: 'Never', initContainers: [{ name: 'i', image: 'i' }] });
    const running = live(ending, 2).pod.status;
    const { containerStatuses = [], initContainerStatuses = [] } = live(ending, 10).pod.status ?? {};
    const [{ containerID, state } = {}] = containerStatuses as readonly { containerID?: string; state?: object }[];
    assert.equal(containerID, running?.containerStatuses?.[0]?.containerID);
    assert.deepEqual(state, {
      terminated: {
        ...{ exitCode: 0, reason: 'Completed', containerID },
        ...{ startedAt: formatTime(start + 1_000), finishedAt: formatTime(start + 6_000) },
      },
    });
    const [init] = initContainerStatuses;
    assert.equal(init?.state?.terminated?.containerID, init?.containerID);
    assert.notEqual(init?.containerID, containerID);
  });

  it('is ready once its readiness gates are open, and not when one closes', () => {
    const { pod } = live(podOf({ readinessGates: [{ conditionType: 'example.com/gate' }] }), 10);
    assert.equal(conditionOf(pod, 'ContainersReady'), 'True');
    assert.equal(conditionOf(pod, 'Ready'), 'False');
    const gate = (status: 'True' | 'False') => ({ conditions: [{ type: 'example.com/gate', status }] });
    const open = live(applyPatchTo(pod, gate('True')), 10).pod;
    assert.equal(conditionOf(open, 'Ready'), 'True');
    assert.equal(conditionOf(live(applyPatchTo(open, gate('False')), 10).pod, 'Ready'), 'False');
  });

  for (const [what, annotations, grace, expected] of [
    ['soon', {}, 30, ['1: removed']],
    ['within its grace period', { 'stop-seconds': '60' }, 5, ['5: removed']],
    ['when it is to', { 'stop-seconds': '3' }, 30, ['3: removed']],
    ['at once', { 'stop-seconds': '0' }, 30, ['0: removed']],
    ['not again, where finalizers keep it', {}, 0, []],
  ] as const) {
    it(`once deleted, it is gone ${what}`, () => {
      const { pod } = live(podOf({}, annotations), 10);
      const deletionTimestamp = formatTime(start + grace * 1_000);
      const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: grace };
      assert.deepEqual(live({ ...pod, metadata }, 100).steps, expected);
    });
  }
});
