import { simulationNames } from '../../dialect/simulation-names.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { formatTime, parseTime } from '../../meta/time.ts';
import { isFinished } from '../workloads/pod-state.ts';

/** What happens to a pod on a simulated node next. */
type PodStep =
  /** A strategic merge patch of the status. */
  | { readonly type: 'status'; readonly status: object }
  | { readonly type: 'remove' }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'none' };

type Container = NonNullable<Pod['spec']>['containers'][number];
type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const none: PodStep = { type: 'none' };

/**
 * The schedule of a pod: its containers are created; after a while they run and are ready; those of pods that end do so after
 * another while; what is deleted is gone soon, within its grace period. `address` is the address that the pod has.
 */
export function nextStep(pod: Pod, address: string, nowMs: number): PodStep {
  const { metadata, status } = pod;
  if (metadata?.deletionTimestamp) return stepOfDeleted(pod, nowMs);
  if (isFinished(pod)) return none;
  const began = parseTime(status?.startTime ?? '');
  if (began === undefined) return { type: 'status', status: creating(pod, nowMs) };
  const { activeDeadlineSeconds } = pod.spec ?? {};
  const deadlineMs =
    activeDeadlineSeconds === undefined ? Number.POSITIVE_INFINITY : began + Number(activeDeadlineSeconds) * 1_000;
  if (deadlineMs <= nowMs) return { type: 'status', status: pastDeadline(pod, nowMs) };
  const running = status?.containerStatuses?.[0]?.state?.running;
  const startMs = began + secondsOf(pod, simulationNames.startSeconds, 1) * 1_000;
  if (!running) {
    if (startMs > nowMs) return waitUntil(Math.min(startMs, deadlineMs), nowMs);
    return { type: 'status', status: runs(pod, address, nowMs) };
  }
  const endMs = (parseTime(running.startedAt ?? '') ?? began) + runMsOf(pod);
  if (endMs <= nowMs) return { type: 'status', status: endsOrRestarts(pod, address, nowMs) };
  const conditions = readiness(pod, nowMs);
  if (conditions.length > 0) return { type: 'status', status: { conditions } };
  return waitUntil(Math.min(endMs, deadlineMs), nowMs);
}

const waitUntil = (dueMs: number, nowMs: number): PodStep =>
  dueMs === Number.POSITIVE_INFINITY ? none : { type: 'wait', ms: dueMs - nowMs };

/** A pod whose last deletion is done stays for its finalizers. */
function stepOfDeleted(pod: Pod, nowMs: number): PodStep {
  const { deletionTimestamp = '', deletionGracePeriodSeconds = 0 } = pod.metadata ?? {};
  const graceSeconds = Number(deletionGracePeriodSeconds);
  if (graceSeconds === 0) return none;
  const asked = (parseTime(deletionTimestamp) ?? nowMs) - graceSeconds * 1_000;
  const due = asked + Math.min(graceSeconds, secondsOf(pod, simulationNames.stopSeconds, 1)) * 1_000;
  return due > nowMs ? waitUntil(due, nowMs) : { type: 'remove' };
}

/** Seconds in an annotation. What is no number counts as none. */
function secondsOf({ metadata }: Pod, name: string, byDefault: number): number {
  const text = metadata?.annotations?.[name] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : byDefault;
}

/** How long the containers run. By default those of services run forever, others for five seconds. */
function runMsOf(pod: Pod): number {
  const byDefault = pod.spec?.restartPolicy === 'Always' ? Number.POSITIVE_INFINITY : 5;
  return secondsOf(pod, simulationNames.runSeconds, byDefault) * 1_000;
}

const exitCodeOf = (pod: Pod): number => secondsOf(pod, simulationNames.exitCode, 0) % 256;

const isReadyWhenRunning = ({ metadata }: Pod): boolean => metadata?.annotations?.[simulationNames.ready] !== 'false';

const containersOf = ({ spec }: Pod): readonly Container[] => spec?.containers ?? [];

function statusOf(container: Container, more: Pick<ContainerStatus, 'state'> & Partial<ContainerStatus>): object {
  const { name = '', image = '' } = container;
  return { name, image, imageID: '', ready: false, started: false, restartCount: 0, lastState: {}, ...more };
}

const condition = (type: string, isTrue: boolean, nowMs: number, reason?: string) => ({
  ...{ type, status: isTrue ? 'True' : 'False', lastProbeTime: null, lastTransitionTime: formatTime(nowMs) },
  // Null removes what a former state said.
  reason: reason ?? null,
  message: null,
});

function creating(pod: Pod, nowMs: number): object {
  const state = { waiting: { reason: 'ContainerCreating' } };
  const isBound = pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'True');
  return {
    phase: 'Pending',
    startTime: formatTime(nowMs),
    conditions: [
      ...(isBound ? [] : [condition('PodScheduled', true, nowMs)]),
      condition('Initialized', true, nowMs),
      condition('ContainersReady', false, nowMs, 'ContainersNotReady'),
      condition('Ready', false, nowMs, 'ContainersNotReady'),
    ],
    containerStatuses: containersOf(pod).map((each) => statusOf(each, { state })),
  };
}

function runs(pod: Pod, address: string, nowMs: number, restartCount = 0): object {
  const now = formatTime(nowMs);
  const ready = isReadyWhenRunning(pod);
  const state = { running: { startedAt: now } };
  const done = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  const init = (pod.spec?.initContainers ?? []).map((each) =>
    each.restartPolicy === 'Always'
      ? statusOf(each, { state, ready: true, started: true })
      : statusOf(each, { state: done, ready: true }),
  );
  return {
    phase: 'Running',
    podIP: address,
    podIPs: [{ ip: address }],
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: containersOf(pod).map((each) => statusOf(each, { state, ready, started: true, restartCount })),
    conditions: conditionsOf(pod, ready, nowMs),
  };
}

/** Conditions of a pod whose containers are ready or not: it is ready if its readiness gates are open as well. */
function conditionsOf(pod: Pod, containersReady: boolean, nowMs: number) {
  const { conditions = [] } = pod.status ?? {};
  const isOpen = ({ conditionType }: { readonly conditionType?: string }): boolean =>
    conditions.some(({ type, status }) => type === conditionType && status === 'True');
  const gatesOpen = (pod.spec?.readinessGates ?? []).every(isOpen);
  const reason = containersReady ? 'ReadinessGatesNotReady' : 'ContainersNotReady';
  const isReady = containersReady && gatesOpen;
  return [
    condition('ContainersReady', containersReady, nowMs, containersReady ? undefined : reason),
    condition('Ready', isReady, nowMs, isReady ? undefined : reason),
  ];
}

/** Those conditions that are another than they should be; what makes them so may be written by others. */
function readiness(pod: Pod, nowMs: number) {
  const ready = isReadyWhenRunning(pod);
  return conditionsOf(pod, ready, nowMs).filter(
    ({ type, status }) => pod.status?.conditions?.find((each) => each.type === type)?.status !== status,
  );
}

function endsOrRestarts(pod: Pod, address: string, nowMs: number): object {
  const { restartPolicy } = pod.spec ?? {};
  const exitCode = exitCodeOf(pod);
  const restarts = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
  const [first] = pod.status?.containerStatuses ?? [];
  if (restarts) return runs(pod, address, nowMs, (first?.restartCount ?? 0) + 1);
  return ended(pod, { exitCode, nowMs });
}

const pastDeadline = (pod: Pod, nowMs: number): object => ({
  ...ended(pod, { exitCode: 137, nowMs }),
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
});

function ended(pod: Pod, { exitCode, nowMs }: { readonly exitCode: number; readonly nowMs: number }): object {
  const finishedAt = formatTime(nowMs);
  const statuses = pod.status?.containerStatuses ?? [];
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const over = exitCode === 0 ? 'PodCompleted' : 'PodFailed';
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    conditions: [condition('ContainersReady', false, nowMs, over), condition('Ready', false, nowMs, over)],
    containerStatuses: containersOf(pod).map((each) => {
      const { state, restartCount = 0 } = statuses.find(({ name }) => name === each.name) ?? {};
      const startedAt = state?.running?.startedAt ?? finishedAt;
      return statusOf(each, { restartCount, state: { terminated: { exitCode, reason, startedAt, finishedAt } } });
    }),
  };
}
