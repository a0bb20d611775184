import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { goTime } from '../../meta/go-values.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { typed } from '../typed.ts';
import { firstShared, readIndexes } from './index-intervals.ts';
import { type JobSpec, type JobStatus, jobSchema } from './job-schema.ts';

/**
 * Rules of a status. Most count only when what they are about changes: they may be violated for a while after a change of the spec, and other
 * fields can be written meanwhile.
 */
export function validateJobStatus(object: ApiObject, old: ApiObject): FieldError[] {
  const { spec = {}, status = {} } = typed(jobSchema, object);
  const { status: former = {} } = typed(jobSchema, old);
  const write: StatusWrite = {
    spec,
    status,
    former,
    changes: (...fields) => fields.some((field) => !equalValues(status[field], former[field])),
    turns: (...types) => types.some((type) => holds(status, type) !== holds(former, type)),
  };
  return [...validateUncounted(status), ...validateConditions(write), ...validateTimes(write), ...validateEnd(write), ...validateIndexes(write), ...validateCounters(write)];
}

interface StatusWrite {
  readonly spec: JobSpec;
  readonly status: JobStatus;
  readonly former: JobStatus;
  readonly changes: (...fields: readonly (keyof JobStatus)[]) => boolean;
  readonly turns: (...types: readonly string[]) => boolean;
}

const holds = ({ conditions = [] }: JobStatus, type: string): boolean => conditions.some((each) => each.type === type && each.status === 'True');
const finished = (status: JobStatus): boolean => holds(status, 'Complete') || holds(status, 'Failed');
const when = (wrong: boolean, error: FieldError): readonly FieldError[] => (wrong ? [error] : []);
const contradiction = (detail: string): FieldError => invalid('status.conditions', undefined, detail);

function validateUncounted({ uncountedTerminatedPods: pods = {} }: JobStatus): FieldError[] {
  const seen = new Set<string>();
  return (['succeeded', 'failed'] as const).flatMap((list) =>
    errorsOfEach(pods[list] ?? [], (uid, index) => {
      const path = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === '') return [invalid(path, uid, 'must not be empty')];
      if (seen.has(uid)) return [duplicate(path, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

function validateConditions({ spec, status, former, turns }: StatusWrite): FieldError[] {
  const [complete, failed, target, met] = ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet'].map((type) => holds(status, type)) as [boolean, boolean, boolean, boolean];
  return [
    ...when(turns('Complete', 'Failed') && complete && failed, contradiction('cannot set Complete=True and Failed=true conditions')),
    ...when(turns('Complete', 'FailureTarget') && complete && target, contradiction('cannot set Complete=True and FailureTarget=true conditions')),
    ...when(turns('Complete', 'SuccessCriteriaMet') && complete && !met, contradiction('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')),
    ...when(met && failed, contradiction('cannot set SuccessCriteriaMet=True and Failed=true conditions')),
    ...when(met && target, contradiction('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')),
    ...when(spec.successPolicy !== undefined && !met && complete, contradiction('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True')),
    ...['Failed', 'Complete', 'FailureTarget'].flatMap((type) => when(holds(former, type) && !holds(status, type), contradiction(`cannot disable the terminal ${type}=True condition`))),
    ...when(holds(former, 'SuccessCriteriaMet') && !met, contradiction('cannot disable the SuccessCriteriaMet=True condition')),
    ...when(holds(former, 'Complete') && !holds(former, 'SuccessCriteriaMet') && met, contradiction('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')),
  ];
}

const invalidTime = (field: string, time = '', detail: string): FieldError => ({ ...invalid(field, time, detail), shown: goTime(time) });

function validateTimes({ spec, status, former, changes, turns }: StatusWrite): FieldError[] {
  const { startTime, completionTime } = status;
  const complete = holds(status, 'Complete');
  const ends = turns('Complete') || changes('completionTime');
  const early = startTime !== undefined && completionTime !== undefined && Date.parse(completionTime) < Date.parse(startTime);
  const moved = completionTime !== undefined && former.completionTime !== undefined && completionTime !== former.completionTime;
  return [
    ...when(ends && completionTime !== undefined && !complete, invalidTime('status.completionTime', completionTime, 'cannot set completionTime when there is no Complete=True condition')),
    ...when(ends && completionTime === undefined && complete, required('status.completionTime', 'completionTime is required for Complete jobs')),
    ...when(changes('startTime', 'completionTime') && early, invalidTime('status.completionTime', completionTime, 'completionTime cannot be set before startTime')),
    ...when((turns('Complete', 'Failed') || changes('startTime')) && startTime === undefined && finished(status), required('status.startTime', 'startTime is required for finished job')),
    ...when(moved, invalidTime('status.completionTime', completionTime, 'completionTime cannot be mutated')),
    ...when(former.startTime !== undefined && changes('startTime') && spec.suspend !== true, required('status.startTime', 'startTime cannot be removed for unsuspended job')),
  ];
}

/** A job that is over has no pods left. */
function validateEnd({ status, former, changes, turns }: StatusWrite): FieldError[] {
  const ends = finished(status) !== finished(former);
  const { active = 0, terminating = 0, ready, uncountedTerminatedPods: pods = {} } = status;
  const uncounted = (pods.failed ?? []).length + (pods.succeeded ?? []).length > 0;
  const over = finished(status);
  return [
    ...when(
      (turns('Failed') || changes('failedIndexes')) && holds(status, 'Failed') && !holds(status, 'FailureTarget'),
      contradiction('cannot set Failed=True condition without the FailureTarget=true condition'),
    ),
    ...when((ends || changes('active')) && over && active > 0, invalid('status.active', active, 'active>0 is invalid for finished job')),
    ...when((ends || changes('uncountedTerminatedPods')) && over && uncounted, invalid('status.uncountedTerminatedPods', pods, 'uncountedTerminatedPods needs to be empty for finished job')),
    ...when((ends || changes('terminating')) && over && terminating > 0, invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job')),
    ...when(changes('ready', 'active') && ready !== undefined && ready > active, invalid('status.ready', ready, 'cannot set more ready pods than active')),
  ];
}

function validateIndexes({ spec, status, changes }: StatusWrite): FieldError[] {
  const { completions, completionMode, backoffLimitPerIndex } = spec;
  const { completedIndexes = '', failedIndexes } = status;
  const problemOf = (text: string): string | undefined => (completions === undefined ? undefined : readIndexes(text, completions).problem);
  const [completed, failed] = [changes('completedIndexes'), changes('failedIndexes')];
  const unread = { completed: completed ? problemOf(completedIndexes) : undefined, failed: failed && backoffLimitPerIndex !== undefined ? problemOf(failedIndexes ?? '') : undefined };
  const shared = (completed || failed) && completions !== undefined ? firstShared(completedIndexes, failedIndexes ?? '', completions) : undefined;
  return [
    ...when(unread.completed !== undefined, invalid('status.completedIndexes', completedIndexes, `error parsing completedIndexes: ${unread.completed}`)),
    ...when(unread.failed !== undefined, invalid('status.failedIndexes', failedIndexes, `error parsing failedIndexes: ${unread.failed}`)),
    ...when(
      completed && completedIndexes !== '' && completionMode !== 'Indexed',
      invalid('status.completedIndexes', completedIndexes, 'cannot set non-empty completedIndexes when non-indexed completion mode'),
    ),
    ...when(
      failed && failedIndexes !== undefined && backoffLimitPerIndex === undefined,
      invalid('status.failedIndexes', failedIndexes, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null'),
    ),
    ...when(shared !== undefined, invalid('status.failedIndexes', failedIndexes, `failedIndexes and completedIndexes overlap at index: ${shared}`)),
  ];
}

/** Counters only grow. An indexed job whose numbers of pods are changed together may lose some that succeeded. */
function validateCounters({ spec: { completionMode, completions, parallelism }, status, former }: StatusWrite): FieldError[] {
  const shrinks = completionMode === 'Indexed' && completions === parallelism;
  const [failed, succeeded] = [status.failed ?? 0, status.succeeded ?? 0];
  return [
    ...when(failed < (former.failed ?? 0), invalid('status.failed', failed, 'cannot decrease the failed counter')),
    ...when(!shrinks && succeeded < (former.succeeded ?? 0), invalid('status.succeeded', succeeded, 'cannot decrease the succeeded counter')),
  ];
}
