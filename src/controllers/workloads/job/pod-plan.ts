import { limits } from '../../../base/limits.ts';
import { type BackOff, remainingMs } from './back-off.ts';
import { firstOutside, hasIndex, indexSetOf, union } from './index-set.ts';
import { isSuspended, type JobFacts, type JobPod, replacesFailedOnly } from './job-facts.ts';

/** What a job does about the number of its pods next. */
export type PodPlan =
  | { readonly type: 'keep' }
  | { readonly type: 'delete'; readonly pods: readonly JobPod[] }
  /** A pod for each of these; undefined where pods have no index. */
  | { readonly type: 'create'; readonly indexes: readonly (number | undefined)[] }
  | { readonly type: 'wait'; readonly ms: number };

interface PlanOptions {
  readonly backOff: BackOff;
  /** Pods that failed and are to be replaced, by index. */
  readonly awaiting: ReadonlyMap<number, JobPod>;
  /** Those first that are to be deleted first. */
  readonly inOrder: (pods: readonly JobPod[]) => readonly JobPod[];
}

const keep: PodPlan = { type: 'keep' };

/** Deletions come before creations: a pass does one of the two. */
export function planOf(facts: JobFacts, options: PlanOptions): PodPlan {
  const { spec, pods, nowMs, isIndexed } = facts;
  const active = pods.filter((pod) => pod.isActive);
  if (isSuspended(spec)) return active.length > 0 ? { type: 'delete', pods: active } : keep;
  const wanted = wantedOf(facts, active.length);
  const surplus = surplusOf(facts, active, active.length - wanted, options);
  if (surplus.length > 0) return { type: 'delete', pods: surplus.slice(0, limits.podsPerPassMax) };
  const leaving = replacesFailedOnly(spec) ? pods.filter((pod) => pod.isTerminating) : [];
  const missing = Math.min(wanted - leaving.length - active.length, limits.podsPerPassMax);
  if (missing <= 0) return keep;
  const byIndex = spec.backoffLimitPerIndex !== undefined;
  const waitMs = byIndex ? 0 : remainingMs(options.backOff, nowMs);
  if (waitMs > 0) return { type: 'wait', ms: waitMs };
  if (!isIndexed) return { type: 'create', indexes: Array.from({ length: missing }, () => undefined) };
  return createIndexes(facts, pendingIndexes(facts, [...active, ...leaving], missing), options);
}

function wantedOf({ spec, completions, succeeded }: JobFacts, active: number): number {
  const { parallelism = 1 } = spec;
  if (completions === undefined) return succeeded > 0 ? active : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** Pods beyond the wanted number, and before them those of no index of the job, or of one that another pod has. */
function surplusOf({ isIndexed }: JobFacts, active: readonly JobPod[], count: number, { inOrder }: PlanOptions) {
  const surplus: JobPod[] = [];
  const others: JobPod[] = [];
  if (isIndexed) {
    const byIndex = Map.groupBy(active, ({ index }) => index);
    for (const [index, same] of byIndex) {
      const last = index === undefined ? undefined : inOrder(same).at(-1);
      for (const pod of same) (pod === last ? others : surplus).push(pod);
    }
  } else {
    others.push(...active);
  }
  return surplus.length >= count ? surplus : [...surplus, ...inOrder(others).slice(0, count - surplus.length)];
}

function pendingIndexes(facts: JobFacts, taken: readonly JobPod[], count: number): readonly number[] {
  const { succeededIndexes, failedIndexes = [], completions = 0 } = facts;
  const busy = indexSetOf(taken.flatMap(({ index }) => index ?? []));
  return firstOutside(union(succeededIndexes, failedIndexes, busy), completions, count);
}

/** Where failures are counted by index, so are the pauses. */
function createIndexes({ nowMs }: JobFacts, indexes: readonly number[], { awaiting }: PlanOptions): PodPlan {
  const waits = indexes.map((index) => {
    const failed = awaiting.get(index);
    return failed ? remainingMs({ failures: failed.indexFailures.all + 1, lastMs: failed.endedMs }, nowMs) : 0;
  });
  const due = indexes.filter((_index, at) => waits[at] === 0);
  if (due.length > 0) return { type: 'create', indexes: due };
  return waits.length > 0 ? { type: 'wait', ms: waits.reduce((a, b) => Math.min(a, b)) } : keep;
}

/**
 * Pods that failed and stay until their index has another one, which takes the number of failures over from them. Only where
 * failures are counted by index.
 */
export function awaitingReplacement(facts: JobFacts): ReadonlyMap<number, JobPod> {
  const { failedIndexes, succeededIndexes, pods } = facts;
  const found = new Map<number, JobPod>();
  if (!failedIndexes) return found;
  const active = new Set(pods.flatMap(({ isActive, index }) => (isActive ? (index ?? []) : [])));
  for (const pod of pods) {
    const { index } = pod;
    if (!pod.isTracked || !pod.hasFailed || index === undefined || active.has(index)) continue;
    if (hasIndex(succeededIndexes, index) || hasIndex(failedIndexes, index)) continue;
    const other = found.get(index);
    const isLater = !other || (other.indexFailures.all <= pod.indexFailures.all && other.endedMs <= pod.endedMs);
    if (isLater) found.set(index, pod);
  }
  return found;
}
