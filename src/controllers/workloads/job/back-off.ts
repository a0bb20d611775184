import { limits } from '../../../base/limits.ts';
import type { JobPod } from './job-facts.ts';

/** Failures of a job's pods since the last success. */
export interface BackOff {
  readonly failures: number;
  /** Time of the last one, milliseconds since the epoch. */
  readonly lastMs: number;
}

export const noFailures: BackOff = { failures: 0, lastMs: 0 };

/** After these pods have ended as well. */
export function backOffAfter(before: BackOff, succeeded: readonly JobPod[], failed: readonly JobPod[]): BackOff {
  const lastSuccess = latest(succeeded);
  const counting = succeeded.length === 0 ? failed : failed.filter(({ endedMs }) => endedMs > lastSuccess);
  const from = succeeded.length === 0 ? before : noFailures;
  return counting.length === 0 ? from : { failures: from.failures + counting.length, lastMs: latest(counting) };
}

const latest = (pods: readonly JobPod[]): number => pods.reduce((max, { endedMs }) => Math.max(max, endedMs), 0);

/** Milliseconds until the next pod may be created. */
export function remainingMs({ failures, lastMs }: BackOff, nowMs: number): number {
  if (failures === 0) return 0;
  const { first, longest } = limits.jobBackOffMs;
  const pauseMs = Math.min(first * 2 ** Math.min(failures - 1, 30), longest);
  return Math.max(0, pauseMs - (nowMs - lastMs));
}
