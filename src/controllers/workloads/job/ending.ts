import type { JobSpec } from '../../../kinds/batch/job-schema.ts';
import { parseTime } from '../../../meta/time.ts';
import { conditionOf } from '../conditions.ts';
import { type IndexSet, indexSetIn, sharedSize, sizeOf } from './index-set.ts';
import { isSuspended, type JobFacts } from './job-facts.ts';

/** How a job is going to end. */
export interface Ending {
  readonly type: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
  /** It is in the status already, as an interim condition. */
  readonly isKnown: boolean;
}

/** The condition that a job has from the decision to the end of its last pod. */
export const interimOf = ({ type }: Ending): string => (type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget');

const failed = (reason: string, message: string): Ending => ({ type: 'Failed', reason, message, isKnown: false });

/** By which a job ends whatever its pods still do; undefined if it goes on. Completions are looked at later. */
export function endingOf(facts: JobFacts): Ending | undefined {
  return knownEnding(facts) ?? failureOf(facts) ?? failureOfIndexes(facts) ?? successOf(facts);
}

function knownEnding({ status: { conditions } }: JobFacts): Ending | undefined {
  for (const type of ['Complete', 'Failed'] as const) {
    const found = conditionOf(conditions, type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget');
    if (found?.status === 'True') {
      return { type, reason: found.reason ?? '', message: found.message ?? '', isKnown: true };
    }
  }
  return undefined;
}

function failureOf(facts: JobFacts): Ending | undefined {
  const ruled = facts.pods.find(({ hasFailed, verdict }) => hasFailed && verdict.message !== undefined);
  if (ruled) return failed('PodFailurePolicy', ruled.verdict.message ?? '');
  if (facts.failed > facts.backoffLimit || hasTooManyRestarts(facts)) {
    return failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  }
  const leftMs = untilDeadlineMs(facts);
  if (leftMs === undefined || leftMs > 0) return undefined;
  return failed('DeadlineExceeded', 'Job was active longer than specified deadline');
}

/** Milliseconds until the job has been active for too long; undefined if there is no such time. */
export function untilDeadlineMs({ spec, status, nowMs }: JobFacts): number | undefined {
  const startMs = parseTime(status.startTime ?? '');
  if (spec.activeDeadlineSeconds === undefined || startMs === undefined || isSuspended(spec)) return undefined;
  return startMs + Number(spec.activeDeadlineSeconds) * 1_000 - nowMs;
}

/** Restarts count like failed pods where containers are restarted in their pod. */
function hasTooManyRestarts({ spec, pods, backoffLimit }: JobFacts): boolean {
  if (spec.template?.spec?.restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(({ pod }) => pod.status?.phase === 'Running' || pod.status?.phase === 'Pending')
    .flatMap(({ pod: { status } }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
  return restarts >= Math.max(backoffLimit, 1);
}

function failureOfIndexes({ spec, failedIndexes, succeededIndexes, completions = 0 }: JobFacts): Ending | undefined {
  if (!failedIndexes) return undefined;
  const count = sizeOf(failedIndexes);
  if (spec.maxFailedIndexes !== undefined && count > spec.maxFailedIndexes) {
    return failed('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  }
  const isOver = count > 0 && count + sizeOf(succeededIndexes) >= completions;
  return isOver ? failed('FailedIndexes', 'Job has failed indexes') : undefined;
}

type SuccessRule = NonNullable<NonNullable<JobSpec['successPolicy']>['rules']>[number];

function successOf({ spec, succeededIndexes, completions = 0 }: JobFacts): Ending | undefined {
  if (succeededIndexes.length === 0) return undefined;
  const rules = spec.successPolicy?.rules ?? [];
  const index = rules.findIndex((rule) => isMet(rule, succeededIndexes, completions));
  if (index < 0) return undefined;
  return { type: 'Complete', reason: 'SuccessPolicy', message: `Matched rules at index ${index}`, isKnown: false };
}

function isMet(rule: SuccessRule, succeeded: IndexSet, completions: number): boolean {
  const enough = rule.succeededCount ?? Number.POSITIVE_INFINITY;
  if (rule.succeededIndexes === undefined) return sizeOf(succeeded) >= enough;
  const wanted = indexSetIn(rule.succeededIndexes, completions);
  const shared = sharedSize(wanted, succeeded);
  return wanted.length > 0 && (shared === sizeOf(wanted) || shared >= enough);
}

/** The end of a job that has all its completions, and no pod that runs. Without a number, one pod is enough. */
export function completionOf({ completions, succeeded }: JobFacts, active: number): Ending | undefined {
  const isComplete = active === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions);
  if (!isComplete) return undefined;
  const message = 'Reached expected number of succeeded pods';
  return { type: 'Complete', reason: 'CompletionsReached', message, isKnown: false };
}
