import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { parseTime } from '../../meta/time.ts';

/** Neither finished nor being deleted. */
export const isActive = (pod: Pod): boolean => !isFinished(pod) && !pod.metadata?.deletionTimestamp;

export const isFinished = ({ status }: Pick<Pod, 'status'>): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

const readyCondition = ({ status }: Pod) =>
  status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'True');

export const isReady = (pod: Pod): boolean => readyCondition(pod) !== undefined;

/** When the pod became ready; undefined if it is not, or does not say when. Milliseconds since the epoch. */
export const readySince = (pod: Pod): number | undefined => {
  const at = readyCondition(pod)?.lastTransitionTime;
  return at ? parseTime(at) : undefined;
};

/** A ready pod is available once it has been ready for more than this many seconds. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  if (minReadySeconds === 0) return isReady(pod);
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1_000 < nowMs;
}

/** Milliseconds until the next of the ready pods is available; undefined if there is nothing to wait for. */
export function nextAvailableMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const waits = pods
    .filter((pod) => isReady(pod) && !isAvailable(pod, minReadySeconds, nowMs))
    .flatMap((pod) => readySince(pod) ?? [])
    .map((since) => Math.max(since + minReadySeconds * 1_000 - nowMs, 0) + 1);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
