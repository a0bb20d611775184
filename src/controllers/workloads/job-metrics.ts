import type { Metrics } from '../../base/metrics.ts';

type Mode = 'Indexed' | 'NonIndexed';
type End = 'succeeded' | 'failed';

/** What a pass over a job did to its pods; `reconciling`: it ended what was left of a job that is over. */
export type PassAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

/** Why a pod is made: nothing of the job has ended or is ending, or what is made stands for such pods. */
export type CreationReason = 'new' | 'recreate_terminating_or_failed' | 'recreate_failed';

interface Pass {
  readonly mode: Mode;
  readonly action: PassAction;
  readonly failed: boolean;
  readonly seconds: number;
}

/** Powers of two: from four milliseconds on, and from a second on. */
const passBuckets = Array.from({ length: 15 }, (_, power) => 0.004 * 2 ** power);
const skewBuckets = Array.from({ length: 10 }, (_, power) => 2 ** power);

/** Metrics of the controllers of jobs and of cron jobs, under the names of kube-controller-manager. No label holds what clients sent. */
export class JobMetrics {
  readonly #passes: ReturnType<typeof jobMetrics>;

  constructor(metrics: Metrics) {
    this.#passes = jobMetrics(metrics);
  }

  /** A pass over a job is over. */
  passed({ mode, action, failed, seconds }: Pass): void {
    const labels = { completion_mode: mode, result: failed ? 'error' : 'success', action };
    this.#passes.syncs.add(labels);
    this.#passes.durations.observe(labels, seconds);
  }

  finished(mode: Mode, result: End, reason: string): void {
    this.#passes.finished.add({ completion_mode: mode, result, reason });
  }

  /** Pods that came into the counters of a job. */
  podsFinished(mode: Mode, result: End, count: number): void {
    if (count > 0) this.#passes.podsFinished.add({ completion_mode: mode, result }, count);
  }

  indexesFinished(result: End, perIndex: boolean, count: number): void {
    if (count > 0) this.#passes.indexes.add({ status: result, backoffLimit: perIndex ? 'perIndex' : 'global' }, count);
  }

  podCreation(reason: CreationReason, result: End): void {
    this.#passes.creations.add({ reason, status: result });
  }

  /** A rule of a pod failure policy decided on a pod that failed. */
  policyApplied(action: string): void {
    this.#passes.policy.add({ action });
  }

  /** A pod that has ended has the finalizer now, or has it no more. */
  tracking(event: 'add' | 'delete'): void {
    this.#passes.tracking.add({ event });
  }

  /** A cron job made a job this long after its time. */
  cronJobStarted(seconds: number): void {
    this.#passes.skew.observe({}, seconds);
  }
}

const jobMetrics = (metrics: Metrics) => ({
  syncs: metrics.counter({
    name: 'job_controller_job_syncs_total',
    stability: 'STABLE',
    help: 'Passes over jobs.',
    labels: ['completion_mode', 'result', 'action'],
  }),
  durations: metrics.histogram({
    name: 'job_controller_job_sync_duration_seconds',
    stability: 'STABLE',
    help: 'How long passes over jobs took.',
    labels: ['completion_mode', 'result', 'action'],
    buckets: passBuckets,
  }),
  finished: metrics.counter({
    name: 'job_controller_jobs_finished_total',
    stability: 'STABLE',
    help: 'Jobs that ended, and why.',
    labels: ['completion_mode', 'result', 'reason'],
  }),
  podsFinished: metrics.counter({
    name: 'job_controller_job_pods_finished_total',
    stability: 'STABLE',
    help: 'Pods that ended and came into the counters of their job.',
    labels: ['completion_mode', 'result'],
  }),
  indexes: metrics.counter({
    name: 'job_controller_job_finished_indexes_total',
    help: 'Indexes of jobs that succeeded, or failed for good.',
    labels: ['status', 'backoffLimit'],
  }),
  creations: metrics.counter({
    name: 'job_controller_job_pods_creation_total',
    help: 'Pods that were made for jobs, or could not be made, and why they were needed.',
    labels: ['reason', 'status'],
  }),
  policy: metrics.counter({
    name: 'job_controller_pod_failures_handled_by_failure_policy_total',
    help: 'Pods that failed and of which a pod failure policy said what that means.',
    labels: ['action'],
  }),
  tracking: metrics.counter({
    name: 'job_controller_terminated_pods_tracking_finalizer_total',
    help: 'Pods that had ended when they got the finalizer by which jobs count them, or lost it.',
    labels: ['event'],
  }),
  skew: metrics.histogram({
    name: 'cronjob_controller_job_creation_skew_duration_seconds',
    stability: 'STABLE',
    help: 'How long after their time jobs of cron jobs were made.',
    labels: [],
    buckets: skewBuckets,
  }),
});
