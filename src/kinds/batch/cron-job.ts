import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { readSchedule, zoneProblem } from '../../meta/cron-schedule.ts';
import { type FieldError, invalid, notSupported, notSupportedOf, required } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { goText } from '../../schema/go-text.ts';
import { always, bool, documentedEnum, type Infer, int32, int64, list, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { age, ageColumn, column, countAt, nameColumn, none, wide } from '../columns.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec, templateWarnings } from '../core/pod/pod-template-spec.ts';
import { nameWarnings } from '../core/pod/pod-warnings.ts';
import { selectorColumn } from '../core/pod/replaced-pods.ts';
import { objectReference } from '../core/references.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { jobSpec } from './job-schema.ts';
import { jobSpecWarnings, validateJobSpec } from './job-spec-errors.ts';

const jobTemplate = struct('api.batch.v1.JobTemplateSpec', 'What jobs are made of.', {
  metadata: always(1, objectMeta, 'Labels and annotations of the jobs.'),
  spec: always(2, jobSpec, 'What the jobs run.'),
});

const spec = struct(
  'api.batch.v1.CronJobSpec',
  'What jobs are made, and when.',
  {
    schedule: always(1, string(), 'Five fields of cron, or `@hourly` and the like.', { documented: 'required' }),
    timeZone: ptr(8, string(), 'Time zone of the schedule; that of the controller unless set.'),
    startingDeadlineSeconds: ptr(2, int64({ minimum: 0 }), 'Seconds after its time at which a job is not started any more.'),
    concurrencyPolicy: opt(3, documentedEnum('Allow', 'Forbid', 'Replace'), '`Allow`, `Forbid` or `Replace`: what happens while a former job runs.', { default: 'Allow' }),
    suspend: ptr(4, bool(), 'Make no further jobs.', { default: false }),
    jobTemplate: always(5, jobTemplate, 'What the jobs are made of.', { documented: 'required' }),
    successfulJobsHistoryLimit: ptr(6, int32({ minimum: 0 }), 'Jobs that succeeded and are kept.', { default: 3 }),
    failedJobsHistoryLimit: ptr(7, int32({ minimum: 0 }), 'Jobs that failed and are kept.', { default: 1 }),
  },
  { checkedFirst: ['schedule', 'startingDeadlineSeconds'] },
);

const status = struct('api.batch.v1.CronJobStatus', 'What jobs were made.', {
  active: opt(1, list(objectReference, { listType: 'atomic' }), 'Jobs that run.'),
  lastScheduleTime: ptr(4, time(), 'When a job was last made.'),
  lastSuccessfulTime: ptr(5, time(), 'When a job last succeeded.'),
});

const schema = kindSchema('api.batch.v1.CronJob', 'Makes jobs on a schedule.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, status, 'What was made.'),
});

export type CronJobSpec = Infer<typeof spec>;
export type CronJobStatus = Infer<typeof status>;

export const asCronJob = (object: ApiObject) => typed(schema, object);

const specOf = (object: ApiObject): CronJobSpec => typed(schema, object).spec ?? {};
const jobOf = (object: ApiObject) => specOf(object).jobTemplate?.spec ?? {};
const templateOf = (object: ApiObject): PodTemplateSpec => jobOf(object).template ?? {};

function validate(object: ApiObject, dialect: Dialect, old?: ApiObject): FieldError[] {
  const { schedule = '', timeZone, concurrencyPolicy: policy = '' } = specOf(object);
  const before = old && specOf(old);
  const { selector, manualSelector } = jobOf(object);
  const path = 'spec.jobTemplate.spec';
  return [
    ...(schedule === '' ? [required('spec.schedule')] : validateSchedule(schedule, timeZone, before)),
    ...(timeZone === undefined || timeZone === before?.timeZone ? [] : validateTimeZone(timeZone, 'spec.timeZone')),
    ...(policies.includes(policy) ? [] : [policy === '' ? required('spec.concurrencyPolicy') : notSupported('spec.concurrencyPolicy', policy, policies)]),
    ...validateJobSpec(jobOf(object), path, dialect),
    ...(selector ? [{ ...invalid(`${path}.selector`, selector, '`selector` will be auto-generated'), shown: goText(labelSelector, selector) }] : []),
    ...(manualSelector ? [notSupportedOf(`${path}.manualSelector`, manualSelector, ['nil', 'false'])] : []),
  ];
}

const policies = ['Allow', 'Forbid', 'Replace'];

/** A zone in the schedule stays where one was before. */
function validateSchedule(schedule: string, timeZone: string | undefined, before: CronJobSpec | undefined): FieldError[] {
  const path = 'spec.schedule';
  const read = readSchedule(schedule);
  const [zoned, allowed] = [schedule.includes('TZ'), before?.schedule?.includes('TZ') ?? false];
  return [
    ...('problem' in read ? [invalid(path, schedule, read.problem)] : []),
    ...(zoned && allowed && timeZone !== undefined ? [invalid(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule')] : []),
    ...(zoned && !allowed ? [invalid(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')] : []),
  ];
}

/** Parts of the names of zones, those of former times included. */
const zonePart = /^(?!\.{1,2}$|-)[A-Za-z.\-_0-9+]{1,14}$/;

function validateTimeZone(zone: string, path: string): FieldError[] {
  if (zone === '') return [invalid(path, zone, 'timeZone must be nil or non-empty string')];
  if (!zone.split('/').every((part) => zonePart.test(part))) return [invalid(path, zone, `unknown time zone ${zone}`)];
  const problem = zoneProblem(zone);
  return [
    ...(zone.toLowerCase() === 'local' ? [invalid(path, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')] : []),
    ...(problem === undefined ? [] : [invalid(path, zone, problem)]),
  ];
}

/** Names of jobs are those of their cron jobs and eleven characters. Stored objects may have longer names. */
function validateName({ metadata: { name = '' } }: ApiObject): FieldError[] {
  const most = limits.cronJobNameLengthMax;
  return name.length > most ? [invalid('metadata.name', name, `must be no more than ${most} characters`)] : [];
}

function warnings(object: ApiObject, old: ApiObject | undefined, dialect: Dialect): readonly string[] {
  const path = 'spec.jobTemplate.spec';
  const changed = !old || !equalValues(object['spec'], old['spec']);
  return [
    ...(old ? [] : nameWarnings(object.metadata.name ?? '', 'Pod names and hostnames')),
    ...(changed ? [...jobSpecWarnings(jobOf(object), path), ...templateWarnings(templateOf(object), `${path}.template`, dialect)] : []),
    ...(old && specOf(object).schedule?.includes('TZ') ? ['cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead'] : []),
  ];
}

function lastScheduled(object: ApiObject, now: number): string {
  const { lastScheduleTime: time } = typed(schema, object).status ?? {};
  return time === undefined ? none : age(time, now);
}

export const cronJob = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('batch'),
    kind: 'CronJob',
    shortNames: ['cj'],
    categories: ['all'],
    schema,
    columns: [
      nameColumn,
      column('Schedule', 'When jobs are made.', '.spec.schedule'),
      column('Timezone', 'Time zone of the schedule.', '.spec.timeZone', { absent: none }),
      column('Suspend', 'Whether no jobs are made at present.', (object) => suspendText(specOf(object).suspend), { type: 'boolean' }),
      column('Active', 'Number of jobs that run.', countAt('.status.active'), { type: 'integer' }),
      column('Last Schedule', 'Time since a job was last made.', lastScheduled),
      ageColumn,
      ...containerColumns(templateOf, wide),
      selectorColumn((object) => jobOf(object).selector),
    ],
    strategy: {
      default: (object) => defaultPodTemplate(jobOf(object).template),
      prepareForCreate: clearStatus(schema),
      validateCreate: (object, { dialect }) => [...validate(object, dialect), ...validateName(object)],
      validateUpdate: (object, old, { dialect }) => validate(object, dialect, old),
      warnings: (object, old) => warnings(object, old, dialect),
    },
    subresources: [statusView()],
    generation: true,
  });

/** As published, a text in a column of truth values. */
const suspendText = (suspend: boolean | undefined): string => (suspend === undefined ? '<unset>' : suspend ? 'True' : 'False');
