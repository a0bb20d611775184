import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { jobNames } from '../../../dialect/workload-names.ts';
import { asCronJob, type CronJobSpec, type CronJobStatus } from '../../../kinds/batch/cron-job.ts';
import { asJob } from '../../../kinds/batch/job-schema.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { readSchedule, zoneProblem } from '../../../meta/cron-schedule.ts';
import { formatTime, parseTime } from '../../../meta/time.ts';
import { zoneOffsetMs } from '../../../meta/time-zone.ts';
import type { ControllerContext } from '../../controller.ts';
import { finishOf } from '../job/job-facts.ts';
import { aboutOf, collectionOf, controllerOf, controllerReference, type ObjectKind, pathOf } from '../owner.ts';
import { isTerminatingNamespace, messageOf } from '../pod-control.ts';
import { writeStatus } from '../write-status.ts';
import { dueOf, untilNextMs } from './due-time.ts';

interface PassOptions extends Pick<ControllerContext, 'client' | 'clock' | 'dialect' | 'events' | 'jobMetrics'> {
  readonly kind: ObjectKind;
  readonly jobKind: ObjectKind;
  readonly owner: ApiObject;
  /** Those that have the cron job as their controller. */
  readonly jobs: readonly ApiObject[];
  readonly owners: SharedInformer;
  readonly jobInformer: SharedInformer;
  readonly signal: AbortSignal;
}

type Active = NonNullable<CronJobStatus['active']>;

/** More missed times are worth an Event. */
const missedMax = 100;

/** One pass over a cron job: forgets jobs that ended, deletes old ones, and makes the one that is due. */
export class CronJobPass {
  readonly #options: PassOptions;
  readonly #spec: CronJobSpec;
  readonly #nowMs: number;
  #status: CronJobStatus;

  constructor(options: PassOptions) {
    this.#options = options;
    const { spec = {}, status = {} } = asCronJob(options.owner);
    this.#spec = spec;
    this.#status = status;
    this.#nowMs = options.clock.now();
  }

  /** Gives the milliseconds until the next pass is due; undefined if nothing is to be waited for. */
  async run(): Promise<number | undefined> {
    let next: number | undefined;
    try {
      await this.#removeOld();
      await this.#follow();
      next = await this.#start();
    } catch (error) {
      // What was done before counts; of two errors the first is told.
      await this.#writeStatus().catch(() => {});
      throw error;
    }
    await this.#writeStatus();
    return next;
  }

  async #writeStatus(): Promise<void> {
    const { client, kind, owner: object, owners: informer, signal } = this.#options;
    if (!signal.aborted) await writeStatus({ client, kind, object, status: this.#status, informer, signal });
  }

  async #removeOld(): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = this.#spec;
    for (const [end, most = Number.POSITIVE_INFINITY] of [
      ['Complete', successfulJobsHistoryLimit],
      ['Failed', failedJobsHistoryLimit],
    ] as const) {
      const ended = this.#options.jobs.filter((job) => endOf(job) === end).sort(byStart);
      for (const job of ended.slice(0, Math.max(0, ended.length - most))) await this.#delete(job);
    }
  }

  /** True if the job is gone then. */
  async #delete(job: ApiObject): Promise<boolean> {
    const { client, jobKind, signal } = this.#options;
    try {
      const preconditions = { uid: job.metadata.uid };
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions };
      await client.delete(pathOf(jobKind, job), options, signal);
      await this.#options.jobInformer.deleted(keyOf(job), job.metadata.uid, signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) {
        this.#event('Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`);
        return false;
      }
    }
    this.#forget(job.metadata.uid);
    this.#event('Normal', 'SuccessfulDelete', `Deleted job ${nameOf(job)}`);
    return true;
  }

  /** Takes what became of the jobs into the status. */
  async #follow(): Promise<void> {
    const { jobs } = this.#options;
    for (const job of jobs) {
      const isKnown = this.#active.some(({ uid }) => uid === job.metadata.uid);
      const end = endOf(job);
      if (!end) {
        if (!isKnown) this.#unexpected(job);
        continue;
      }
      if (isKnown) {
        this.#forget(job.metadata.uid);
        this.#event('Normal', 'SawCompletedJob', `Saw completed job: ${nameOf(job)}, condition: ${end}`);
      }
      const { completionTime } = asJob(job).status ?? {};
      const before = parseTime(this.#status.lastSuccessfulTime ?? '') ?? 0;
      if (end === 'Complete' && completionTime && (parseTime(completionTime) ?? 0) > before) {
        this.#status = { ...this.#status, lastSuccessfulTime: completionTime };
      }
    }
    for (const { uid, name = '' } of this.#active) {
      if (jobs.some(({ metadata }) => metadata.uid === uid) || (await this.#exists(name))) continue;
      this.#event('Normal', 'MissingJob', `Active job went missing: ${name}`);
      this.#forget(uid);
    }
  }

  #unexpected(job: ApiObject): void {
    const text = `Saw a job that the controller did not create or forgot: ${nameOf(job)}`;
    this.#event('Warning', 'UnexpectedJob', text);
  }

  async #exists(name: string): Promise<boolean> {
    return (await this.#read(name)) !== undefined;
  }

  async #read(name: string): Promise<ApiObject | undefined> {
    const { client, jobKind, owner, signal } = this.#options;
    try {
      return await client.get<ApiObject>(
        `${collectionOf(jobKind, owner.metadata.namespace)}/${encodeURIComponent(name)}`,
        signal,
      );
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #start(): Promise<number | undefined> {
    const { owner } = this.#options;
    const { schedule: text = '', timeZone: zone = 'UTC', startingDeadlineSeconds, suspend } = this.#spec;
    if (owner.metadata.deletionTimestamp !== undefined) return undefined;
    const problem = zoneProblem(zone);
    if (problem !== undefined) {
      this.#event('Warning', 'UnknownTimeZone', `invalid timeZone: ${JSON.stringify(zone)}: ${problem}`);
      return undefined;
    }
    if (suspend) return undefined;
    const read = readSchedule(text);
    if ('problem' in read) {
      const message = `unparseable schedule: ${JSON.stringify(text)} : ${read.problem}`;
      this.#event('Warning', 'UnparseableSchedule', message);
      return undefined;
    }
    const since = this.#status.lastScheduleTime ?? owner.metadata.creationTimestamp ?? '';
    const times = { schedule: read.schedule, zone, sinceMs: parseTime(since) ?? this.#nowMs, nowMs: this.#nowMs };
    const deadlineMs = startingDeadlineSeconds === undefined ? undefined : Number(startingDeadlineSeconds) * 1_000;
    const { at, missed } = dueOf({ ...times, deadlineMs });
    if (missed > missedMax) {
      const advice = 'Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      this.#event('Warning', 'TooManyMissedTimes', `too many missed start times. ${advice}`);
    }
    if (at !== undefined) await this.#startAt(at, deadlineMs, zone);
    const lastMs = parseTime(this.#status.lastScheduleTime ?? '') ?? times.sinceMs;
    return untilNextMs({ ...times, sinceMs: lastMs });
  }

  async #startAt(at: number, deadlineMs: number | undefined, zone: string): Promise<void> {
    const name = `${nameOf(this.#options.owner)}-${Math.floor(at / 60_000)}`;
    if (deadlineMs !== undefined && at + deadlineMs < this.#nowMs) {
      const text = `Missed scheduled time to start a job: ${new Date(at).toUTCString().replace('GMT', '+0000')}`;
      this.#event('Warning', 'MissSchedule', text);
      return;
    }
    if (this.#active.some((each) => each.name === name)) return;
    const { concurrencyPolicy } = this.#spec;
    if (concurrencyPolicy === 'Forbid' && this.#active.length > 0) {
      const text = 'Not starting job because prior execution is running and concurrency policy is Forbid';
      this.#event('Normal', 'JobAlreadyActive', text);
      return;
    }
    if (concurrencyPolicy === 'Replace') await this.#removeActive();
    const job = await this.#create(name, at, zone);
    if (!job) return;
    const { apiVersion, kind } = this.#options.jobKind;
    const { namespace, uid, resourceVersion } = job.metadata;
    const reference = { kind, ...(namespace !== undefined && { namespace }), name, ...(uid !== undefined && { uid }) };
    const active = { ...reference, apiVersion, ...(resourceVersion !== undefined && { resourceVersion }) };
    this.#status = { ...this.#status, active: [...this.#active, active], lastScheduleTime: formatTime(at) };
  }

  async #removeActive(): Promise<void> {
    for (const { name = '' } of this.#active) {
      const job = await this.#read(name);
      if (!job) throw new Error(`job ${name} is gone`);
      if (!(await this.#delete(job))) throw new Error(`could not replace job ${keyOf(job)}`);
    }
  }

  /** The job, made now, or before by a pass whose status was lost; undefined if the name is that of another's. */
  async #create(name: string, at: number, zone: string): Promise<ApiObject | undefined> {
    const { client, dialect, jobKind, kind, owner, signal } = this.#options;
    const { namespace = '' } = owner.metadata;
    const { metadata: { labels, annotations } = {}, spec } = this.#spec.jobTemplate ?? {};
    const { scheduledAt } = jobNames(dialect);
    const metadata = {
      ...{ name, namespace, labels: { ...labels } },
      annotations: { ...annotations, [scheduledAt]: zonedTime(at, zone) },
      ownerReferences: [controllerReference(kind, owner)],
    };
    const object = { apiVersion: jobKind.apiVersion, kind: jobKind.kind, metadata, spec: { ...spec } };
    try {
      const job = await client.create<ApiObject>(collectionOf(jobKind, namespace), object, signal);
      this.#event('Normal', 'SuccessfulCreate', `Created job ${name}`);
      const madeMs = parseTime(job.metadata.creationTimestamp ?? '') ?? this.#nowMs;
      this.#options.jobMetrics?.cronJobStarted((madeMs - at) / 1_000);
      await this.#options.jobInformer.reached(job.metadata.resourceVersion, signal);
      return job;
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) {
        if (!signal.aborted && !isTerminatingNamespace(error)) {
          this.#event('Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`);
        }
        throw error;
      }
    }
    const job = await this.#read(name);
    return job && controllerOf(job)?.uid === owner.metadata.uid ? job : undefined;
  }

  get #active(): Active {
    return this.#status.active ?? [];
  }

  #forget(uid: string | undefined): void {
    const { active: _former, ...status } = this.#status;
    const active = this.#active.filter((each) => each.uid !== uid);
    this.#status = { ...status, ...(active.length > 0 && { active }) };
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { events, kind, owner } = this.#options;
    events.record({ about: aboutOf(kind, owner), type, reason, message });
  }
}

const endOf = (job: ApiObject): 'Complete' | 'Failed' | undefined => finishOf(asJob(job).status ?? {});

const keyOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string => `${namespace}/${name}`;

/** Those that began first come first, those that never began last. */
function byStart(a: ApiObject, b: ApiObject): number {
  const [one, other] = [a, b].map((job) => parseTime(asJob(job).status?.startTime ?? '') ?? Number.MAX_SAFE_INTEGER);
  return (one ?? 0) - (other ?? 0) || (nameOf(a) < nameOf(b) ? -1 : 1);
}

/** `2006-01-02T15:04:05+02:00`. */
export function zonedTime(at: number, zone: string): string {
  const offset = zoneOffsetMs(zone, at) ?? 0;
  const local = formatTime(at + offset);
  if (offset === 0) return local;
  const minutes = Math.abs(Math.trunc(offset / 60_000));
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${local.slice(0, -1)}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
