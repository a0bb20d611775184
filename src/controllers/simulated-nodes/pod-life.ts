import { createHash } from 'node:crypto';
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

/** The addresses of a pod and of its node: the same for a pod in the network of the node. */
interface PodAddress {
  readonly podIP: string;
  readonly hostIP: string;
}

const none: PodStep = { type: 'none' };

/**
 * The schedule of a pod: its containers are created; after a while they run and are ready; those of pods that end do so after
 * another while; what is deleted is gone soon, within its grace period.
 */
export function nextStep(pod: Pod, addresses: PodAddress, nowMs: number): PodStep {
  const { metadata, status } = pod;
  if (metadata?.deletionTimestamp) return stepOfDeleted(pod, nowMs);
  if (isFinished(pod)) return none;
  const began = parseTime(status?.startTime ?? '');
  if (began === undefined) return { type: 'status', status: creating(pod, addresses, nowMs) };
  const { activeDeadlineSeconds } = pod.spec ?? {};
  const deadlineMs =
    activeDeadlineSeconds === undefined ? Number.POSITIVE_INFINITY : began + Number(activeDeadlineSeconds) * 1_000;
  if (deadlineMs <= nowMs) return { type: 'status', status: pastDeadline(pod, nowMs) };
  const running = status?.containerStatuses?.[0]?.state?.running;
  const startMs = began + secondsOf(pod, simulationNames.startSeconds, 1) * 1_000;
  if (!running) {
    if (startMs > nowMs) return waitUntil(Math.min(startMs, deadlineMs), nowMs);
    return { type: 'status', status: runs(pod, addresses, nowMs) };
  }
  const endMs = (parseTime(running.startedAt ?? '') ?? began) + runMsOf(pod);
  if (endMs <= nowMs) return { type: 'status', status: endsOrRestarts(pod, addresses, nowMs) };
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

function creating(pod: Pod, addresses: PodAddress, nowMs: number): object {
  const state = { waiting: { reason: 'ContainerCreating' } };
  const isBound = pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'True');
  return {
    phase: 'Pending',
    ...hostOf(addresses),
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

const hostOf = ({ hostIP }: PodAddress) => ({ hostIP, hostIPs: [{ ip: hostIP }] });

/** The containers of a pod run, for the first time or again. */
function runs(pod: Pod, addresses: PodAddress, nowMs: number): object {
  const now = formatTime(nowMs);
  const ready = isReadyWhenRunning(pod);
  const state = { running: { startedAt: now } };
  const init = (pod.spec?.initContainers ?? []).map((each) => {
    const containerID = containerIdOf(pod, each, 0);
    const done = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now, containerID } };
    return each.restartPolicy === 'Always'
      ? statusOf(each, { state, containerID, ready: true, started: true })
      : statusOf(each, { state: done, containerID, ready: true });
  });
  return {
    phase: 'Running',
    ...hostOf(addresses),
    podIP: addresses.podIP,
    podIPs: [{ ip: addresses.podIP }],
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: containersOf(pod).map((each) => {
      const lastState = lastEnd(pod, each, { exitCode: exitCodeOf(pod), nowMs });
      const restartCount = lastState ? formerOf(pod, each).restartCount + 1 : 0;
      const containerID = containerIdOf(pod, each, restartCount);
      return statusOf(each, {
        state,
        containerID,
        ready,
        started: true,
        restartCount,
        ...(lastState && { lastState }),
      });
    }),
    conditions: conditionsOf(pod, ready, nowMs),
  };
}

/** What the status says of a container. */
function formerOf({ status }: Pod, { name }: Container) {
  const former = status?.containerStatuses?.find((each) => each.name === name);
  return { ...former, restartCount: former?.restartCount ?? 0 };
}

interface End {
  readonly exitCode: number;
  readonly nowMs: number;
}

/** The state of a container that ends now; undefined if it has not run. */
function lastEnd(pod: Pod, container: Container, { exitCode, nowMs }: End) {
  const { state, containerID } = formerOf(pod, container);
  if (!state?.running) return undefined;
  const finishedAt = formatTime(nowMs);
  const { startedAt = finishedAt } = state.running;
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return { terminated: { exitCode, reason, startedAt, finishedAt, ...(containerID !== undefined && { containerID }) } };
}

/** Each run of a container has an id of its own, the same whoever asks. */
function containerIdOf({ metadata }: Pod, { name }: Container, restartCount: number): string {
  const hash = createHash('sha256').update(`${metadata?.uid ?? ''}/${name}/${restartCount}`);
  return `simulated://${hash.digest('hex')}`;
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

function endsOrRestarts(pod: Pod, addresses: PodAddress, nowMs: number): object {
  const { restartPolicy } = pod.spec ?? {};
  const exitCode = exitCodeOf(pod);
  const restarts = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
  return restarts ? runs(pod, addresses, nowMs) : ended(pod, { exitCode, nowMs });
}

function neverRan(exitCode: number, nowMs: number) {
  const at = formatTime(nowMs);
  return { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: at, finishedAt: at } };
}

const pastDeadline = (pod: Pod, nowMs: number): object => ({
  ...ended(pod, { exitCode: 137, nowMs }),
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
});

function ended(pod: Pod, { exitCode, nowMs }: End): object {
  const over = exitCode === 0 ? 'PodCompleted' : 'PodFailed';
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    conditions: [condition('ContainersReady', false, nowMs, over), condition('Ready', false, nowMs, over)],
    containerStatuses: containersOf(pod).map((each) => {
      const { restartCount, containerID, lastState } = formerOf(pod, each);
      const state = lastEnd(pod, each, { exitCode, nowMs }) ?? neverRan(exitCode, nowMs);
      return statusOf(each, {
        ...{ restartCount, state },
        ...(containerID !== undefined && { containerID }),
        ...(lastState && { lastState }),
      });
    }),
  };
}
