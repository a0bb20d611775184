import { limits } from '../../../base/limits.ts';
import type { JobStatus } from '../../../kinds/batch/job-schema.ts';
import type { Ending } from './ending.ts';
import { hasIndex, indexSetIn, indexSetOf, sizeOf, textOf, union } from './index-set.ts';
import type { JobFacts, JobPod } from './job-facts.ts';

/** Pods that ended, on their way into the counters. */
interface Tracked {
  /** What is written before the finalizers of `ended` are removed: their UIDs, and the indexes that succeeded. */
  readonly status: JobStatus;
  readonly ended: readonly JobPod[];
  /** Whether others have to wait for the next pass. */
  readonly hasMore: boolean;
}

/**
 * The first step of counting: pods that ended are noted by UID. Once that is stored their finalizers go, and once these are gone
 * the UIDs become numbers (`countedStatus`). A controller that stops in between goes on where it was, and counts nothing twice.
 */
export function trackedStatus(
  facts: JobFacts,
  before: JobStatus,
  { ending, awaiting }: { readonly ending: Ending | undefined; readonly awaiting: ReadonlyMap<number, JobPod> },
): Tracked {
  const isLeaving = facts.job.metadata.deletionTimestamp !== undefined;
  const isKept = (pod: JobPod): boolean => pod.index !== undefined && awaiting.get(pod.index) === pod;
  const tracked = facts.pods.filter((pod) => pod.isTracked);
  const { succeeded: succeededBefore = [], failed: failedBefore = [] } = before.uncountedTerminatedPods ?? {};
  const [succeeded, failed] = [new Set(succeededBefore), new Set(failedBefore)];
  const counted = indexSetIn(before.completedIndexes ?? '', facts.completions ?? 0);
  const newIndexes = new Set<number>();
  const ended: JobPod[] = [];
  let hasMore = false;
  for (const pod of tracked) {
    const mayGo = isLeaving || ending !== undefined || pod.hasSucceeded || (pod.hasFailed && !isKept(pod));
    if (!mayGo) continue;
    if (newIndexes.size + succeeded.size + failed.size >= limits.uncountedPodsMax) {
      hasMore = true;
      break;
    }
    ended.push(pod);
    const { uid, index } = pod;
    if (pod.hasSucceeded && !failed.has(uid)) {
      if (!facts.isIndexed) succeeded.add(uid);
      else if (index !== undefined && !hasIndex(counted, index)) newIndexes.add(index);
    } else if (pod.hasFailed || ending?.type === 'Failed') {
      if (pod.verdict.counts && (!facts.isIndexed || index !== undefined)) failed.add(uid);
    }
  }
  const status = { ...before, uncountedTerminatedPods: uncounted([...succeeded], [...failed]) };
  if (!facts.isIndexed) return { status, ended, hasMore };
  const indexes = union(counted, indexSetOf([...newIndexes]));
  return { status: { ...status, ...indexStatus(facts, indexes) }, ended, hasMore };
}

function indexStatus({ failedIndexes }: JobFacts, indexes: ReturnType<typeof union>): Partial<JobStatus> {
  return {
    succeeded: sizeOf(indexes),
    completedIndexes: textOf(indexes),
    ...(failedIndexes && { failedIndexes: textOf(failedIndexes) }),
  };
}

/** The second step: UIDs of pods that have no finalizer any more become numbers. */
export function countedStatus(before: JobStatus, withFinalizer: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = before.uncountedTerminatedPods ?? {};
  const [openSucceeded, openFailed] = [succeeded, failed].map((uids = []) =>
    uids.filter((uid) => withFinalizer.has(uid)),
  );
  return {
    ...before,
    succeeded: (before.succeeded ?? 0) + succeeded.length - (openSucceeded?.length ?? 0),
    failed: (before.failed ?? 0) + failed.length - (openFailed?.length ?? 0),
    uncountedTerminatedPods: uncounted(openSucceeded ?? [], openFailed ?? []),
  };
}

const uncounted = (succeeded: string[], failed: string[]) => ({
  ...(succeeded.length > 0 && { succeeded }),
  ...(failed.length > 0 && { failed }),
});
