import type { Steps } from '../../../base/time/in-slices.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { jobNames } from '../../../dialect/workload-names.ts';
import { asJob, type JobSpec, type JobStatus } from '../../../kinds/batch/job-schema.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { parseTime } from '../../../meta/time.ts';
import { isActive, isFinished } from '../pod-state.ts';
import { type IndexSet, indexSetIn, indexSetOf, union } from './index-set.ts';
import { type FailureVerdict, verdictOf } from './pod-failure-policy.ts';

/** A pod as its job sees it. */
export interface JobPod {
  readonly object: ApiObject;
  readonly pod: Pod;
  readonly uid: string;
  /** Its index, if it has one that the job has. */
  readonly index: number | undefined;
  /** It is not in the counters yet. */
  readonly isTracked: boolean;
  readonly isActive: boolean;
  /** It is being deleted, and has not ended. */
  readonly isTerminating: boolean;
  readonly hasSucceeded: boolean;
  readonly hasFailed: boolean;
  readonly verdict: FailureVerdict;
  /** When it ended, as far as it can be told. Milliseconds since the epoch. */
  readonly endedMs: number;
  /** Failures of its index before it: those that count, and all of them. */
  readonly indexFailures: { readonly counted: number; readonly all: number };
}

/** A job with its pods, as one pass sees them. */
export interface JobFacts {
  readonly job: ApiObject;
  readonly spec: JobSpec;
  readonly status: JobStatus;
  readonly pods: readonly JobPod[];
  readonly nowMs: number;
  readonly isIndexed: boolean;
  readonly completions: number | undefined;
  readonly backoffLimit: number;
  /** Pods that ended since they were last counted. */
  readonly newlySucceeded: readonly JobPod[];
  readonly newlyFailed: readonly JobPod[];
  /** Numbers that the counters will reach once all pods are counted. */
  readonly succeeded: number;
  readonly failed: number;
  readonly succeededIndexes: IndexSet;
  /** Undefined where failures are not counted by index. */
  readonly failedIndexes: IndexSet | undefined;
}

interface Seen {
  readonly job: ApiObject;
  readonly pods: readonly ApiObject[];
  readonly dialect: Dialect;
  readonly nowMs: number;
  /** UIDs of pods that are in the counters, though they may not be seen so. */
  readonly counted: ReadonlySet<string>;
}

/** As a job and metrics name it. */
export const modeOf = (isIndexed: boolean) => (isIndexed ? 'Indexed' : 'NonIndexed');

export const isSuspended = ({ suspend }: JobSpec): boolean => suspend === true;

/** Pods are replaced when they have ended, and not while they terminate. */
export const replacesFailedOnly = ({ podReplacementPolicy, podFailurePolicy }: JobSpec): boolean =>
  podReplacementPolicy === 'Failed' || podFailurePolicy !== undefined;

export function finishOf({ conditions = [] }: JobStatus): 'Complete' | 'Failed' | undefined {
  const found = conditions.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
  return found && (found.type === 'Complete' ? 'Complete' : 'Failed');
}

/** A pod may take long: its failure is compared with each rule of a policy. */
export function* factsOf(seen: Seen): Steps<JobFacts> {
  const { job, nowMs } = seen;
  const { spec = {}, status = {} } = asJob(job);
  const isIndexed = spec.completionMode === 'Indexed';
  const { completions, backoffLimit = 6 } = spec;
  const all: JobPod[] = [];
  for (const object of seen.pods) {
    all.push(readPod(object, spec, seen));
    yield;
  }
  const pods = isIndexed ? all.sort((a, b) => (a.index ?? -1) - (b.index ?? -1)) : all;
  const { succeeded: waiting = [], failed: waitingFailed = [] } = status.uncountedTerminatedPods ?? {};
  const countable = pods.filter(({ isTracked, index }) => isTracked && (!isIndexed || index !== undefined));
  const inCounting = new Set([...waiting, ...waitingFailed]);
  const newlySucceeded = countable.filter(({ uid, hasSucceeded }) => hasSucceeded && !inCounting.has(uid));
  const newlyFailed = countable.filter(({ uid, hasFailed }) => hasFailed && !inCounting.has(uid));
  yield;
  const countedFailures = newlyFailed.filter(({ verdict }) => verdict.counts).length;
  const succeededIndexes = isIndexed
    ? withIndexes(
        status.completedIndexes,
        completions,
        countable.filter((each) => each.hasSucceeded),
      )
    : [];
  return {
    ...{ job, spec, status, pods, nowMs, isIndexed, completions, backoffLimit, newlySucceeded, newlyFailed },
    succeeded: isIndexed
      ? succeededIndexes.reduce((sum, { first, last }) => sum + last - first + 1, 0)
      : (status.succeeded ?? 0) + newlySucceeded.length + waiting.length,
    failed: (status.failed ?? 0) + countedFailures + waitingFailed.length,
    succeededIndexes,
    failedIndexes:
      isIndexed && spec.backoffLimitPerIndex !== undefined
        ? withIndexes(
            status.failedIndexes,
            completions,
            countable.filter((each) => failsIndex(each, spec)),
          )
        : undefined,
  };
}

const withIndexes = (text = '', completions = 0, pods: readonly JobPod[]): IndexSet =>
  union(indexSetIn(text, completions), indexSetOf(pods.flatMap(({ index }) => index ?? [])));

const failsIndex = ({ hasFailed, verdict, indexFailures }: JobPod, { backoffLimitPerIndex = 0 }: JobSpec): boolean =>
  hasFailed && (verdict.action === 'FailIndex' || (verdict.counts && indexFailures.counted >= backoffLimitPerIndex));

function readPod(object: ApiObject, spec: JobSpec, { dialect, counted }: Seen): JobPod {
  const names = jobNames(dialect);
  const pod = asPod(object);
  const { uid = '', finalizers = [], deletionTimestamp, annotations = {} } = object.metadata;
  const isTerminating = deletionTimestamp !== undefined && !isFinished(pod);
  const index = countIn(annotations[names.completionIndex]);
  const failures = countIn(annotations[names.indexFailureCount]) ?? 0;
  return {
    ...{ object, pod, uid, isTerminating },
    index: index !== undefined && index < (spec.completions ?? 0) ? index : undefined,
    isTracked: finalizers.includes(names.tracking) && !counted.has(uid),
    isActive: isActive(pod),
    hasSucceeded: pod.status?.phase === 'Succeeded',
    hasFailed: pod.status?.phase === 'Failed' || (isTerminating && !replacesFailedOnly(spec)),
    verdict: verdictOf(spec.podFailurePolicy, pod),
    endedMs: endOf(pod),
    indexFailures: {
      counted: failures,
      all: failures + (countIn(annotations[names.indexIgnoredFailureCount]) ?? 0),
    },
  };
}

/** A number of 31 bits; anybody may have written something else. */
const countIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined;

/** The last end of a container; else since when it is not ready, when it was deleted, or when it was made. */
function endOf({ metadata, spec, status }: Pod): number {
  const sidecars = new Set(
    (spec?.initContainers ?? []).flatMap(({ name, restartPolicy }) => (restartPolicy === 'Always' ? [name] : [])),
  );
  const containers = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name ?? '')),
  ];
  const ends = containers.map(({ state }) => parseTime(state?.terminated?.finishedAt ?? ''));
  const known = ends.filter((each) => each !== undefined);
  if (known.length > 0 && known.length === ends.length) return known.reduce((a, b) => Math.max(a, b));
  const unready = status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'False');
  const since = parseTime(unready?.lastTransitionTime ?? '');
  if (since !== undefined) return since;
  const deletion = parseTime(metadata?.deletionTimestamp ?? '');
  if (deletion !== undefined) return deletion - Number(metadata?.deletionGracePeriodSeconds ?? 0) * 1_000;
  return parseTime(metadata?.creationTimestamp ?? '') ?? 0;
}
