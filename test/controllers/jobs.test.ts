import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../../src/base/metrics.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ControllerMetrics } from '../../src/controllers/controller-metrics.ts';
import { asJob } from '../../src/kinds/batch/job-schema.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, Workloads } from '../support/workloads.ts';

/** Jobs over a registry. The test does what nodes would: it says how pods end. */
const controllers = controllersForEach();
const work = new Workloads(controllers);
const jobs = '/apis/batch/v1/namespaces/ns/jobs';
const path = `${jobs}/work`;
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
const index = 'batch.orch.io/job-completion-index';

const end = async (name: string, phase: 'Succeeded' | 'Failed', exitCode = 0): Promise<void> => {
  const at = new Date(controllers.fixture.clock.now()).toISOString().replace(/\.\d+/, '');
  const terminated = { exitCode, finishedAt: at, startedAt: at };
  const containerStatuses = [
    { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  await work.patch(`${podsPath}/${name}/status`, { status: { phase, containerStatuses } });
};
const running = async (): Promise<readonly ApiObject[]> =>
  (await work.list(podsPath)).filter(
    ({ metadata, ...pod }) =>
      !metadata.deletionTimestamp &&
      !['Succeeded', 'Failed'].includes((pod as { status?: { phase?: string } }).status?.phase ?? ''),
  );
const runs = async (count: number): Promise<readonly string[]> => {
  await until(
    async () => (await running()).length === count,
    () => `there are never ${count} pods`,
  );
  return (await running()).map(({ metadata }) => metadata.name ?? '');
};
const conditions = async () =>
  (asJob(await work.get(path)).status?.conditions ?? []).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  );
const hasConditions = async (...expected: readonly string[]): Promise<void> => {
  let last: readonly string[] = [];
  await until(
    async () => {
      last = await conditions();
      return JSON.stringify(last) === JSON.stringify(expected);
    },
    () => `${last.join(', ')} instead of ${expected.join(', ')}`,
  );
};
const reached = 'CompletionsReached: Reached expected number of succeeded pods';
const tracked = async (): Promise<number> =>
  (await work.list(podsPath)).filter(({ metadata }) => metadata.finalizers?.includes('batch.orch.io/job-tracking'))
    .length;

/** Lines of the metrics of jobs, without those of histograms and passes, whose number depends on how watches come. */
const counted = (metrics: Metrics): readonly string[] =>
  metrics
    .render()
    .split('\n')
    .filter((line) => /^job_controller_(?!job_sync)/.test(line))
    .map((line) => line.replace('job_controller_', ''))
    .sort();

describe('metrics of jobs', () => {
  it('count pods and jobs that end, and why pods are made', async () => {
    const metrics = new Metrics();
    controllers.start(['job'], { metrics: new ControllerMetrics(metrics, 'manager') });
    await work.make(jobs, 'work', { backoffLimit: 3, template });
    const [first = ''] = await runs(1);
    await end(first, 'Failed', 1);
    const [second = ''] = await runs(1);
    await end(second, 'Succeeded');
    await hasConditions(`SuccessCriteriaMet=True ${reached}`, `Complete=True ${reached}`);
    const expected = [
      'job_pods_creation_total{reason="new",status="succeeded"} 1',
      'job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 1',
      'job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 1',
      'job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 1',
      'jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
      'terminated_pods_tracking_finalizer_total{event="add"} 2',
      'terminated_pods_tracking_finalizer_total{event="delete"} 2',
    ];
    await until(
      () => JSON.stringify(counted(metrics)) === JSON.stringify(expected),
      () => counted(metrics).join('\n'),
    );
    const text = metrics.render();
    const made =
      /^job_controller_job_syncs_total\{completion_mode="NonIndexed",result="success",action="pods_created"\} 2$/m;
    assert.match(text, made);
    assert.match(text, /^job_controller_job_sync_duration_seconds_count\{.*action="pods_created"\} 2$/m);
  });

  it('count indexes, and pods on which a policy decides', async () => {
    const metrics = new Metrics();
    controllers.start(['job'], { metrics: new ControllerMetrics(metrics, 'manager') });
    const onExitCodes = { operator: 'In', values: [42] };
    const spec = {
      parallelism: 1,
      completions: 2,
      completionMode: 'Indexed',
      backoffLimitPerIndex: 1,
      maxFailedIndexes: 2,
    };
    const podFailurePolicy = { rules: [{ action: 'FailIndex', onExitCodes }] };
    await work.make(jobs, 'work', { ...spec, podFailurePolicy, template });
    const [first = ''] = await runs(1);
    await end(first, 'Failed', 42);
    await until(async () => asJob(await work.get(path)).status?.failedIndexes === '0', 'the index does not fail');
    const [second = ''] = await runs(1);
    await end(second, 'Succeeded');
    const expected = [
      'job_finished_indexes_total{status="failed",backoffLimit="perIndex"} 1',
      'job_finished_indexes_total{status="succeeded",backoffLimit="perIndex"} 1',
      'jobs_finished_total{completion_mode="Indexed",result="failed",reason="FailedIndexes"} 1',
      'pod_failures_handled_by_failure_policy_total{action="FailIndex"} 1',
    ];
    await until(
      () => expected.every((line) => counted(metrics).includes(line)),
      () => counted(metrics).join('\n'),
    );
  });
});

describe('a job', () => {
  it('runs pods until enough of them have succeeded, and counts each once', async () => {
    controllers.start(['job']);
    await work.make(jobs, 'work', { parallelism: 2, completions: 3, template });
    const [first = '', second = ''] = await runs(2);
    await work.status(path, { active: 2, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    assert.equal(await tracked(), 2);
    await end(first, 'Succeeded');
    await work.status(path, { active: 2, succeeded: 1 });
    await end(second, 'Succeeded');
    await work.status(path, { active: 1, succeeded: 2 });
    const [third = ''] = await runs(1);
    await end(third, 'Succeeded');
    await hasConditions(`SuccessCriteriaMet=True ${reached}`, `Complete=True ${reached}`);
    await work.status(path, { active: undefined, succeeded: 3, failed: undefined, uncountedTerminatedPods: {} });
    assert.ok(asJob(await work.get(path)).status?.completionTime);
    assert.equal(await tracked(), 0);
    await until(async () => (await work.events('work')).includes('Completed: Job completed'), 'no event');
  });

  it('gives each index a pod, with its number', async () => {
    controllers.start(['job']);
    await work.make(jobs, 'work', { parallelism: 3, completions: 3, completionMode: 'Indexed', template });
    await runs(3);
    const pods = (await work.pods()).toSorted((a, b) =>
      (a.metadata?.labels?.[index] ?? '').localeCompare(b.metadata?.labels?.[index] ?? ''),
    );
    for (const [at, { metadata, spec }] of pods.entries()) {
      assert.match(metadata?.name ?? '', new RegExp(`^work-${at}-.{5}$`));
      assert.equal(metadata?.annotations?.[index], `${at}`);
      assert.equal(spec?.hostname, `work-${at}`);
      assert.deepEqual(JSON.parse(JSON.stringify(spec?.containers[0]?.env)), [
        {
          name: 'JOB_COMPLETION_INDEX',
          valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${index}']` } },
        },
      ]);
    }
    for (const at of [0, 2]) await end(pods[at]?.metadata?.name ?? '', 'Succeeded');
    await work.status(path, { active: 1, succeeded: 2, completedIndexes: '0,2' });
    await end(pods[1]?.metadata?.name ?? '', 'Succeeded');
    await work.status(path, { succeeded: 3, completedIndexes: '0-2' });
    await hasConditions(`SuccessCriteriaMet=True ${reached}`, `Complete=True ${reached}`);
  });

  it('replaces pods that failed after a pause, and fails beyond its limit', async () => {
    const clock = new ManualClock(controllers.fixture.clock.now());
    controllers.start(['job'], { clock });
    await work.make(jobs, 'work', { backoffLimit: 1, template });
    const [first = ''] = await runs(1);
    await end(first, 'Failed', 1);
    await work.status(path, { failed: 1 });
    assert.deepEqual(await runs(0), []);
    await until(() => clock.pending > 0, 'it waits');
    clock.advance(12_000);
    const [second = ''] = await runs(1);
    await end(second, 'Failed', 1);
    const message = 'BackoffLimitExceeded: Job has reached the specified backoff limit';
    await hasConditions(`FailureTarget=True ${message}`, `Failed=True ${message}`);
    await work.status(path, { failed: 2, active: undefined });
    assert.equal(await tracked(), 0);
  });

  it('fails at once by a rule about exit codes', async () => {
    controllers.start(['job']);
    const rules = [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }];
    await work.make(jobs, 'work', { parallelism: 2, completions: 2, podFailurePolicy: { rules }, template });
    const [first = ''] = await runs(2);
    await end(first, 'Failed', 42);
    const why = `PodFailurePolicy: Container c for pod ns/${first} failed with exit code 42 matching FailJob rule at index 0`;
    await hasConditions(`FailureTarget=True ${why}`, `Failed=True ${why}`);
  });

  it('has no pods while it is suspended, and none of them counts as failed', async () => {
    controllers.start(['job']);
    await work.make(jobs, 'work', { suspend: true, template });
    await hasConditions('Suspended=True JobSuspended: Job suspended');
    assert.equal(asJob(await work.get(path)).status?.startTime, undefined);
    await work.patch(path, { spec: { suspend: false } });
    await runs(1);
    await hasConditions('Suspended=False JobResumed: Job resumed');
    await work.patch(path, { spec: { suspend: true } });
    await work.count(0);
    await work.status(path, { active: undefined, failed: undefined });
  });

  it('fails when it was active for too long', async () => {
    const clock = new ManualClock(controllers.fixture.clock.now());
    controllers.start(['job'], { clock });
    await work.make(jobs, 'work', { activeDeadlineSeconds: 60, template });
    await runs(1);
    await work.status(path, { active: 1 });
    await until(() => clock.pending > 0, 'it waits');
    clock.advance(61_000);
    const message = 'DeadlineExceeded: Job was active longer than specified deadline';
    await hasConditions(`FailureTarget=True ${message}`, `Failed=True ${message}`);
    await work.count(0);
  });

  it('that is gone leaves pods without the finalizer', async () => {
    controllers.start(['job']);
    await work.make(jobs, 'work', { template });
    await runs(1);
    await work.remove(path, { propagationPolicy: 'Orphan' });
    await work.patch(path, { metadata: { finalizers: null } });
    await until(async () => (await tracked()) === 0, 'the finalizer stays');
  });
});
