import type { PodCondition, PodStatus } from './pod-status.ts';

/** A condition to set, without its times. */
interface ConditionChange {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

/** Sets a condition, replacing one of the same type in place. lastTransitionTime changes only if the status does. */
export function setCondition(status: PodStatus, change: ConditionChange, now: string | null): void {
  const conditions = status.conditions ?? [];
  const old = conditions.find(({ type }) => type === change.type);
  const unchanged = old?.status === change.status;
  const { type, status: value, ...explained } = change;
  const condition = {
    type,
    status: value,
    lastProbeTime: old?.lastProbeTime ?? null,
    lastTransitionTime: unchanged ? (old?.lastTransitionTime ?? null) : now,
    ...explained,
  } as PodCondition; // an unset time is null in the API
  status.conditions = old ? conditions.map((each) => (each === old ? condition : each)) : [...conditions, condition];
}
