import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../../src/base/metrics.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ControllerMetrics } from '../../src/controllers/controller-metrics.ts';
import { asCronJob } from '../../src/kinds/batch/cron-job.ts';
import { formatTime } from '../../src/meta/time.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { Workloads } from '../support/workloads.ts';

/** Cron jobs over a registry, on a clock that the test drives. The test ends their jobs. */
const controllers = controllersForEach();
const work = new Workloads(controllers);
const batch = '/apis/batch/v1/namespaces/ns';
const path = `${batch}/cronjobs/tick`;
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
const minute = 60_000;

async function start(spec: object, metrics = new Metrics()) {
  const clock = new ManualClock(controllers.fixture.clock.now());
  controllers.start(['cronjob'], { clock, metrics: new ControllerMetrics(metrics, 'manager') });
  await work.make(`${batch}/cronjobs`, 'tick', { schedule: '* * * * *', jobTemplate: { spec: { template } }, ...spec });
  await until(() => clock.pending > 0, 'it waits');
  return clock;
}
/** The time that the schedule says, and a little more. */
function tick(clock: ManualClock): number {
  const at = (Math.floor(clock.now() / minute) + 1) * minute;
  clock.advance(at + 200 - clock.now());
  return at;
}
const names = async (): Promise<readonly string[]> =>
  (await work.list(`${batch}/jobs`)).map(({ metadata }) => metadata.name ?? '').sort();
async function has(...expected: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await until(
    async () => {
      last = await names();
      return last.join() === expected.join();
    },
    () => `${last.join()} instead of ${expected.join()}`,
  );
}
const jobAt = (at: number): string => `tick-${at / minute}`;
const active = async () => (asCronJob(await work.get(path)).status?.active ?? []).map(({ name }) => name);
async function isActive(...expected: readonly string[]): Promise<void> {
  await until(async () => (await active()).join() === expected.join(), `active is not ${expected.join()}`);
}
async function complete(name: string, nowMs: number): Promise<void> {
  const at = formatTime(nowMs);
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    ...{ type, status: 'True', lastTransitionTime: at },
  }));
  await work.patch(`${batch}/jobs/${name}/status`, { status: { startTime: at, completionTime: at, conditions } });
}
const told = (event: string): Promise<void> =>
  until(async () => (await work.events('tick')).includes(event), `no event ${event}`);

describe('a cron job', () => {
  it('tells how late its jobs are made, as a metric', async () => {
    const metrics = new Metrics();
    const clock = await start({}, metrics);
    const shown = (): string => /^cronjob_.*_skew_duration_seconds_count (\d+)$/m.exec(metrics.render())?.[1] ?? '0';
    assert.equal(shown(), '0');
    await has(jobAt(tick(clock)));
    await until(() => shown() === '1', 'it is not counted');
  });

  it('makes a job each time, and keeps as many as it is to keep', async () => {
    const clock = await start({ successfulJobsHistoryLimit: 1, timeZone: 'Asia/Kolkata' });
    const first = tick(clock);
    await has(jobAt(first));
    await isActive(jobAt(first));
    const { metadata } = await work.get(`${batch}/jobs/${jobAt(first)}`);
    assert.match(metadata.annotations?.['batch.orch.io/cronjob-scheduled-timestamp'] ?? '', /:00\+05:30$/);
    assert.equal(metadata.ownerReferences?.[0]?.name, 'tick');
    assert.equal(asCronJob(await work.get(path)).status?.lastScheduleTime, formatTime(first));
    await complete(jobAt(first), clock.now());
    await isActive();
    assert.equal(asCronJob(await work.get(path)).status?.lastSuccessfulTime, formatTime(clock.now()));
    await told(`SawCompletedJob: Saw completed job: ${jobAt(first)}, condition: Complete`);
    await until(() => clock.pending > 0, 'it waits');
    const second = tick(clock);
    await has(jobAt(first), jobAt(second));
    await complete(jobAt(second), clock.now());
    await has(jobAt(second));
    await told(`SuccessfulDelete: Deleted job ${jobAt(first)}`);
  });

  for (const [concurrencyPolicy, expected] of [
    ['Allow', ['first', 'second']],
    ['Forbid', ['first']],
    ['Replace', ['second']],
  ] as const) {
    it(`${concurrencyPolicy}: while a job runs`, async () => {
      const clock = await start({ concurrencyPolicy });
      const first = tick(clock);
      await isActive(jobAt(first));
      await until(() => clock.pending > 0, 'it waits');
      const second = tick(clock);
      await isActive(...expected.map((which) => jobAt(which === 'first' ? first : second)));
      await has(...expected.map((which) => jobAt(which === 'first' ? first : second)));
      if (concurrencyPolicy !== 'Forbid') return;
      await told(
        'JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid',
      );
    });
  }

  it('makes one job for all times that it missed', async () => {
    const clock = await start({ suspend: false });
    clock.advance(200 * minute);
    const last = Math.floor(clock.now() / minute) * minute;
    await has(jobAt(last));
    await told(
      'TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    );
  });
});
