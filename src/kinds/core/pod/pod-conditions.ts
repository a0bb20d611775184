import type { PodCondition, PodStatus } from './pod-status.ts';

/** Sets one condition. The time of its last transition stays while its status does. */
export function setCondition(
  status: PodStatus,
  { type, status: value, reason, message }: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: string | null,
): void {
  const old = status.conditions?.find((condition) => condition.type === type);
  const condition: Condition = {
    type,
    status: value,
    lastProbeTime: old?.lastProbeTime ?? null,
    lastTransitionTime: old?.status === value ? (old?.lastTransitionTime ?? null) : now,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
  const others = (status.conditions ?? []).filter((each) => each !== old);
  status.conditions = [...others, condition as PodCondition];
}

/** A time that is not set is null in the API. */
type Condition = { [K in keyof PodCondition]: PodCondition[K] | null };
