import type { ApiObject } from '../../../meta/api-object.ts';
import type { ContainerStatus } from './container/container-status.ts';
import { asPod, type Pod } from './pod-schema.ts';

/** Values of the columns Ready, Status and Restarts, computed as kube-apiserver does. */
interface PodSummary {
  readonly ready: number;
  /** Number of containers, including sidecars (restartable init containers). */
  readonly total: number;
  readonly status: string;
  readonly restartCount: number;
  /** Time of the latest container termination before a restart; undefined if unknown. */
  readonly lastRestart: string | undefined;
}

/**
 * During initialization the status describes the first init container that is not done; afterwards the first main
 * container with a reason to show. A deletion in progress takes precedence over both.
 */
export function summarize(object: ApiObject): PodSummary {
  const pod = asPod(object);
  const sidecars = sidecarNames(pod);
  const total = (pod.spec?.containers?.length ?? 0) + sidecars.size;
  const init = summarizeInit(pod, sidecars);
  const begun = init.blocked === undefined || isTrue(pod, 'Initialized');
  const main = begun ? summarizeMain(pod, init.blocked ?? baseStatus(pod)) : undefined;
  const ready = init.ready + (main?.ready ?? 0);
  const seen = (pod.status?.initContainerStatuses ?? []).slice(0, init.seen);
  const counted = main
    ? [...seen.filter(({ name = '' }) => sidecars.has(name)), ...(pod.status?.containerStatuses ?? [])]
    : seen;
  return {
    ready,
    total,
    status: deletionStatus(object, pod) ?? main?.status ?? init.blocked ?? baseStatus(pod),
    restartCount: counted.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    lastRestart: latestEnd(counted),
  };
}

function sidecarNames({ spec }: Pod): ReadonlySet<string> {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return new Set(sidecars.map(({ name }) => name));
}

/** `SchedulingGated`, else the status reason, else the phase. */
function baseStatus({ status }: Pod): string {
  const gated = status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  return gated ? 'SchedulingGated' : (status?.reason ?? status?.phase ?? '');
}

interface InitSummary {
  readonly ready: number;
  /** State of the first init container that is not done; undefined if all are. */
  readonly blocked: string | undefined;
  /** Number of init containers up to and including the blocked one. */
  readonly seen: number;
}

function summarizeInit(pod: Pod, sidecars: ReadonlySet<string>): InitSummary {
  const statuses = pod.status?.initContainerStatuses ?? [];
  let ready = 0;
  for (const [index, container] of statuses.entries()) {
    if (container.state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(container.name ?? '') && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const progress = `${index}/${pod.spec?.initContainers?.length ?? 0}`;
    return { ready, blocked: `Init:${initReason(container) ?? progress}`, seen: index + 1 };
  }
  return { ready, blocked: undefined, seen: statuses.length };
}

function initReason({ state }: ContainerStatus): string | undefined {
  if (state?.terminated) return endReason(state.terminated);
  const waiting = state?.waiting?.reason;
  return waiting === 'PodInitializing' ? undefined : waiting;
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

const endReason = ({ reason, signal, exitCode }: Terminated): string =>
  reason ?? (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`);

function summarizeMain(pod: Pod, otherwise: string): { readonly ready: number; readonly status: string } {
  const statuses = pod.status?.containerStatuses ?? [];
  const running = statuses.filter(({ state, ready }) => isRunning(state) && ready);
  const reasons = statuses.map(({ state }) => mainReason(state)).filter((reason) => reason !== undefined);
  const status = reasons[0] ?? otherwise;
  if (status !== 'Completed' || running.length === 0) return { ready: running.length, status };
  return { ready: running.length, status: isTrue(pod, 'Ready') ? 'Running' : 'NotReady' };
}

function mainReason(state: ContainerStatus['state']): string | undefined {
  if (state?.waiting?.reason) return state.waiting.reason;
  return state?.terminated && endReason(state.terminated);
}

const isRunning = (state: ContainerStatus['state']): boolean =>
  state?.running !== undefined && mainReason(state) === undefined;

const isTrue = ({ status }: Pod, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;

function deletionStatus({ metadata }: ApiObject, { status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? undefined : 'Terminating';
}

/** The latest end of a previous run. RFC 3339 times in UTC sort as text. */
function latestEnd(statuses: readonly ContainerStatus[]): string | undefined {
  const ends = statuses.map(({ lastState }) => lastState?.terminated?.finishedAt).filter((end) => !!end);
  return ends.sort().at(-1);
}
