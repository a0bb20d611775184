import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { InformedContext } from '../../controller.ts';
import { byController, collectionOf, type ObjectKind } from '../owner.ts';
import { isTerminatingNamespace } from '../pod-control.ts';
import { WorkloadController } from '../workload-controller.ts';
import { CronJobPass } from './cron-job-pass.ts';

const parallel = 5;

/** Makes jobs on the schedules of cron jobs. */
export function startCronJobs(context: InformedContext): Closable {
  const apiVersion = `${context.dialect.group('batch')}/v1`;
  const kind: ObjectKind = { apiVersion, kind: 'CronJob', resource: 'cronjobs' };
  const jobKind: ObjectKind = { apiVersion, kind: 'Job', resource: 'jobs' };
  const jobInformer = context.informers.of(collectionOf(jobKind));
  const controller = new WorkloadController(context, {
    ...{ kind, queue: 'cronjob', parallel, dependents: [jobKind] },
    selectorOf: () => undefined,
    async pass(owner, key) {
      const jobs = jobInformer.indexed(byController, owner.metadata.uid ?? '');
      const { owners, signal } = controller;
      try {
        const waitMs = await new CronJobPass({
          ...context,
          kind,
          jobKind,
          owner,
          jobs,
          owners,
          jobInformer,
          signal,
        }).run();
        if (waitMs !== undefined) controller.addAfter(key, Math.min(Math.max(waitMs, 1), limits.controllerTimerMsMax));
      } catch (error) {
        // Whatever else is tried there fails as well.
        if (!isTerminatingNamespace(error)) throw error;
      }
    },
  });
  return controller;
}
