import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { hasReason } from '../../client/api-client.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { parseTime } from '../../meta/time.ts';
import type { InformedContext } from '../controller.ts';
import type { Condition } from './conditions.ts';
import { type ObjectKind, pathOf } from './owner.ts';
import { WorkloadController } from './workload-controller.ts';

const parallel = 5;

interface FinishedJob {
  readonly spec?: { readonly ttlSecondsAfterFinished?: number };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** When a job is to be deleted, milliseconds since the epoch; undefined for one that goes on, is being deleted, or stays. */
export function expiryOf(job: ApiObject): number | undefined {
  const { spec, status } = job as FinishedJob;
  const seconds = spec?.ttlSecondsAfterFinished;
  if (seconds === undefined || job.metadata.deletionTimestamp !== undefined) return undefined;
  const end = status?.conditions?.find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  const finished = parseTime(end?.lastTransitionTime ?? '');
  return finished === undefined ? undefined : finished + seconds * 1_000;
}

/** Deletes finished jobs, with their pods, when the time has come that their `ttlSecondsAfterFinished` says. */
export function startTtlAfterFinished(context: InformedContext): Closable {
  const { client, clock, dialect } = context;
  const kind: ObjectKind = { apiVersion: `${dialect.group('batch')}/v1`, kind: 'Job', resource: 'jobs' };
  /** Waits for a later time. True if the job is to be deleted now. */
  const isDue = (job: ApiObject, key: string): boolean => {
    const expiry = expiryOf(job);
    if (expiry === undefined) return false;
    const waitMs = expiry - clock.now();
    if (waitMs > 0) controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
    return waitMs <= 0;
  };
  const controller = new WorkloadController(context, {
    ...{ kind, queue: 'ttl_jobs_to_delete', parallel, dependents: [] },
    selectorOf: () => undefined,
    async pass(known, key) {
      if (!isDue(known, key)) return;
      const { signal } = controller;
      try {
        // The time may have been changed since, or the job be another one.
        const job = await client.get<ApiObject>(pathOf(kind, known), signal);
        if (!isDue(job, key)) return;
        const preconditions = { uid: job.metadata.uid };
        const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground', preconditions };
        await client.delete(pathOf(kind, job), options, signal);
      } catch (error) {
        if (!hasReason(error, 'NotFound')) throw error;
      }
    },
  });
  return controller;
}
