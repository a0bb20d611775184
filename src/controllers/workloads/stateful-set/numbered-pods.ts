import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { isAvailable, isFinished, isReady } from '../pod-state.ts';

/** What stateful sets do with their pods: the rules of kube-controller-manager, without requests. */

/** Number of a pod in the set of this name; undefined if its name is not one of the set's. */
export function ordinalOf(pod: string, set: string): number | undefined {
  const [, parent, digits = ''] = /^(.*)-(\d{1,10})$/s.exec(pod) ?? [];
  const ordinal = Number(digits);
  return parent === set && ordinal < 2 ** 31 ? ordinal : undefined;
}

interface Order {
  /** One pod after the other. */
  readonly isOrdered: boolean;
  readonly minReadySeconds: number;
  readonly nowMs: number;
}

const isLeaving = ({ metadata }: Pod): boolean => Boolean(metadata?.deletionTimestamp);
const isRunningReady = (pod: Pod): boolean => pod.status?.phase === 'Running' && isReady(pod);
const isHealthy = (pod: Pod): boolean => isRunningReady(pod) && !isLeaving(pod);
const isUp = (pod: Pod, { minReadySeconds, nowMs }: Order): boolean =>
  isRunningReady(pod) && isAvailable(pod, minReadySeconds, nowMs);

/** What is done about a wanted pod: `wait` if the next ones have to as well, `settle` if it is as it should be so far. */
type Step = 'create' | 'delete' | 'wait' | 'settle';

export function stepOf(pod: Pod | undefined, order: Order): Step {
  if (!pod) return 'create';
  if (isFinished(pod)) return isLeaving(pod) ? 'wait' : 'delete';
  return order.isOrdered && (isLeaving(pod) || !isUp(pod, order)) ? 'wait' : 'settle';
}

/**
 * Which of the pods that are too many are deleted now; they come with the highest number first. In order it is one, and it waits
 * for others below that are not up.
 */
export function surplusToDelete(surplus: readonly Pod[], order: Order): readonly Pod[] {
  if (!order.isOrdered) return surplus.filter((pod) => !isLeaving(pod));
  const [first] = surplus;
  if (!first || isLeaving(first)) return [];
  const unhealthy = surplus.findLast((pod) => !isHealthy(pod));
  return isUp(first, order) || first === unhealthy ? [first] : [];
}

interface Update {
  readonly revision: string;
  readonly revisionOf: (pod: Pod) => string | undefined;
  /** Number of pods that stay as they are, from the first on. */
  readonly partition: number;
  /** Undefined for one pod at a time, from the last one. */
  readonly maxUnavailable: number | undefined;
}

/** Which of the wanted pods are deleted so that they come again by the new revision. */
export function toUpdate(pods: readonly (Pod | undefined)[], update: Update): readonly Pod[] {
  const { revision, revisionOf, partition, maxUnavailable } = update;
  const isDue = (pod: Pod): boolean => revisionOf(pod) !== revision && !isLeaving(pod);
  const fromLast = pods.slice(partition).reverse();
  if (maxUnavailable !== undefined) {
    const missing = pods.filter((pod) => !pod || !isHealthy(pod)).length;
    const due = fromLast.filter((pod) => pod !== undefined).filter(isDue);
    return due.slice(0, Math.max(maxUnavailable - missing, 0));
  }
  for (const pod of fromLast) {
    if (pod && isDue(pod)) return [pod];
    if (!pod || !isHealthy(pod)) return [];
  }
  return [];
}

interface Counted {
  readonly order: Order;
  readonly revisionOf: (pod: Pod) => string | undefined;
  readonly current: string;
  readonly update: string;
  /** Wanted number of pods, if all that are updated are meant to become the current ones. */
  readonly rollsTo: number | undefined;
}

/** Counts and revisions of the status; counts that are left out when they are 0 are undefined then. */
export function statefulCounts(pods: readonly Pod[], { order, revisionOf, current, update, rollsTo }: Counted) {
  const ready = pods.filter(isRunningReady);
  const of = (revision: string): number => pods.filter((pod) => !isLeaving(pod) && revisionOf(pod) === revision).length;
  const updated = of(update);
  const isComplete = [pods.length, ready.length, updated].every((count) => count === rollsTo);
  return {
    replicas: pods.length,
    readyReplicas: ready.length || undefined,
    availableReplicas: pods.filter((pod) => isUp(pod, order)).length,
    currentReplicas: (isComplete ? updated : of(current)) || undefined,
    updatedReplicas: updated || undefined,
    currentRevision: isComplete ? update : current,
    updateRevision: update,
  };
}
