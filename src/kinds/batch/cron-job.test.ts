import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { fills, fullTemplate, refusesSpecs, template } from '../core/pod/owner-rules-fixture.ts';
import { create, filled, now, read, row, type Sent, update } from '../strategy-fixture.ts';
import { cronJob } from './cron-job.ts';

const kind = cronJob(orch);
const jobTemplate = (spec: Sent = {}): Sent => ({ spec: { template: template({ restartPolicy: 'Never' }), ...spec } });
const valid = { schedule: '*/5 * * * *', jobTemplate: jobTemplate() };

fills(kind, valid, {
  spec: {
    schedule: '*/5 * * * *',
    concurrencyPolicy: 'Allow',
    suspend: false,
    jobTemplate: {
      metadata: { creationTimestamp: null },
      spec: { template: fullTemplate({ restartPolicy: 'Never' }) },
    },
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  },
  status: {},
});

const negative = 'must be greater than or equal to 0';
const limits = ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'];
const inJob = 'spec.jobTemplate.spec';

refusesSpecs(kind, valid, [
  ...limits.map(
    (field) =>
      [`a negative ${field}`, { [field]: -1 }, [`spec.${field}: Invalid value: -1: ${negative}`]] as [
        string,
        Sent,
        string[],
      ],
  ),
  ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'].map(
    (field) =>
      [
        `a negative ${field} of its jobs`,
        { jobTemplate: jobTemplate({ [field]: -1 }) },
        [`${inJob}.${field}: Invalid value: -1: ${negative}`],
      ] as [string, Sent, string[]],
  ),
  ['no schedule', { schedule: '' }, ['spec.schedule: Required value']],
  [
    'a schedule that is none',
    { schedule: 'error' },
    ['spec.schedule: Invalid value: "error": expected exactly 5 fields, found 1: [error]'],
  ],
  [
    'an unknown policy',
    { concurrencyPolicy: 'Never' },
    ['spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    'jobs with a selector',
    { jobTemplate: jobTemplate({ selector: { matchLabels: { a: 'b' } } }) },
    [
      `${inJob}.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: \`selector\` will be auto-generated`,
    ],
  ],
  [
    'jobs with a selector of their own',
    { jobTemplate: jobTemplate({ manualSelector: true }) },
    [`${inJob}.manualSelector: Unsupported value: true: supported values: "nil", "false"`],
  ],
  [
    'jobs whose pods restart',
    { jobTemplate: jobTemplate({ template: template() }) },
    [`${inJob}.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`],
  ],
  [
    'jobs of unknown pods',
    { jobTemplate: jobTemplate({ completionMode: 'Indexed' }) },
    [`${inJob}.completions: Required value: when completion mode is Indexed`],
  ],
]);

test('CronJob: no policy is refused where the default was taken away', () => {
  const object = read(kind, {
    spec: {
      ...valid,
      concurrencyPolicy: '',
      jobTemplate: { spec: { template: fullTemplate({ restartPolicy: 'Never' }) } },
    },
  });
  assert.deepEqual(create(kind, object as unknown as Sent).errors, ['spec.concurrencyPolicy: Required value']);
});

const schedules = {
  both: 'cannot use both timeZone field and TZ or CRON_TZ in schedule',
  zoned: 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
};
const plain = { schedule: '0 * * * *' };
const zoned = { schedule: 'CRON_TZ=UTC 0 * * * *' };

/** An object as it was stored before, perhaps by a release that checked less. */
const stored = (spec: Sent): ApiObject =>
  read(kind, filled(kind, { metadata: { resourceVersion: '1' }, spec: { ...valid, ...spec } }));

const zoneChanges: readonly (readonly [what: string, old: Sent, next: Sent, errors: readonly string[]])[] = [
  ['a zone in the schedule', plain, zoned, [schedules.zoned]],
  ['a zone that stays in the schedule', zoned, zoned, []],
  ['another zone in the schedule', zoned, { schedule: 'TZ=Asia/Tokyo 0 * * * *' }, []],
  ['a zone beside that in the schedule', zoned, { ...zoned, timeZone: 'UTC' }, [schedules.both]],
  ['a zone in the place of that in the schedule', zoned, { ...plain, timeZone: 'UTC' }, []],
  ['an unknown zone that stays', { timeZone: 'broken' }, { timeZone: 'broken', suspend: true }, []],
  ['an unknown zone', {}, { timeZone: 'broken' }, ['unknown time zone broken']],
  ['no zone any more', { timeZone: 'America/New_York' }, {}, []],
  ['another zone', { timeZone: 'America/New_York' }, { timeZone: 'America/Chicago' }, []],
];

for (const [what, old, next, errors] of zoneChanges) {
  test(`CronJob: an update with ${what} is ${errors.length > 0 ? 'refused' : 'accepted'}`, () => {
    const found = update(kind, stored(old), filled(kind, { spec: { ...valid, ...next } })).errors;
    assert.deepEqual(
      found.map((error) => errors.find((text) => error.endsWith(`: ${text}`)) ?? error),
      errors,
    );
  });
}

const explicit = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
const zones: readonly (readonly [zone: string, problems: readonly string[]])[] = [
  ...['UTC', 'Europe/Rome', 'US/Eastern', 'Etc/GMT+5'].map((zone) => [zone, []] as const),
  ['', ['timeZone must be nil or non-empty string']],
  ['Local', [explicit]],
  ['LOCAL', [explicit, 'unknown time zone LOCAL']],
  ...[' Europe/Rome', 'Europe/Rome ', 'Europe/InvalidRome', ' ', 'Europe//Rome', '/UTC', '../UTC', '-UTC', 'utc'].map(
    (zone) => [zone, [`unknown time zone ${zone}`]] as const,
  ),
];

for (const [timeZone, problems] of zones) {
  test(`CronJob: time zone ${JSON.stringify(timeZone)}`, () => {
    assert.deepEqual(
      create(kind, filled(kind, { spec: { ...valid, timeZone } })).errors,
      problems.map((problem) => `spec.timeZone: Invalid value: ${JSON.stringify(timeZone)}: ${problem}`),
    );
  });
}

test('CronJob: names leave room for those of jobs, but for names that are stored', () => {
  const [fits, long] = ['a'.repeat(52), 'a'.repeat(53)];
  const sent = (name: string) => filled(kind, { metadata: { name }, spec: valid });
  assert.deepEqual(create(kind, sent(fits)).errors, []);
  assert.deepEqual(create(kind, sent(long)).errors, [
    `metadata.name: Invalid value: "${long}": must be no more than 52 characters`,
  ]);
  assert.deepEqual(update(kind, read(kind, sent(long)), sent(long)).errors, []);
});

test('CronJob: warnings', () => {
  const { warnings = () => [] } = kind.strategy;
  const dotted = read(kind, filled(kind, { metadata: { name: 'a.b' }, spec: valid }));
  assert.match(warnings(dotted, undefined)[0] ?? '', /^metadata.name: this is used in Pod names and hostnames/);
  assert.deepEqual(warnings(dotted, dotted), []);
  const large = stored({
    jobTemplate: jobTemplate({ completionMode: 'Indexed', completions: 100001, parallelism: 10001 }),
  });
  assert.match(warnings(large, undefined)[0] ?? '', /^spec.jobTemplate.spec: In Indexed Jobs/);
  assert.deepEqual(warnings(large, large), []);
  const images = { template: template({ restartPolicy: 'Never', imagePullSecrets: [{ name: '' }] }) };
  assert.deepEqual(warnings(stored({ jobTemplate: jobTemplate(images) }), stored({})), [
    'spec.jobTemplate.spec.template.spec.imagePullSecrets[0].name: invalid empty name ""',
  ]);
  assert.deepEqual(warnings(stored(zoned), stored(zoned)), [
    'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead',
  ]);
});

test('CronJob: columns', () => {
  const at = new Date(now - 90_000).toISOString();
  const status = { active: [{ name: 'a' }, { name: 'b' }], lastScheduleTime: at };
  const shown = {
    Name: 'one',
    Schedule: '*/5 * * * *',
    Age: '<unknown>',
    '*Containers': 'c',
    '*Images': 'img:1',
    '*Selector': '<none>',
  };
  assert.deepEqual(row(kind, { spec: { ...valid, timeZone: 'Europe/Rome', suspend: true }, status }), {
    ...shown,
    ...{ Timezone: 'Europe/Rome', Suspend: 'True', Active: 2, 'Last Schedule': '90s' },
  });
  assert.deepEqual(row(kind, { spec: valid }), {
    ...shown,
    ...{ Timezone: '<none>', Suspend: '<unset>', Active: 0, 'Last Schedule': '<none>' },
  });
});
