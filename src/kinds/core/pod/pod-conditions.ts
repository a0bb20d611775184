import type { PodCondition, PodStatus } from './pod-status.ts';

/** What a writer of a condition decides. */
interface Verdict {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

/** Sets one condition, at its place if it was there. The time of its last transition stays while its status does. */
export function setCondition(status: PodStatus, verdict: Verdict, now: string | null): void {
  const conditions = status.conditions ?? [];
  const old = conditions.find(({ type }) => type === verdict.type);
  const unchanged = old?.status === verdict.status;
  const { type, status: value, ...explained } = verdict;
  const condition = {
    type,
    status: value,
    lastProbeTime: old?.lastProbeTime ?? null,
    lastTransitionTime: unchanged ? (old?.lastTransitionTime ?? null) : now,
    ...explained,
  } as PodCondition; // a time that is not set is null in the API
  status.conditions = old ? conditions.map((each) => (each === old ? condition : each)) : [...conditions, condition];
}
