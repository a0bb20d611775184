import type { asDeployment } from '../../../kinds/apps/deployment.ts';
import { asReplicaSet } from '../../../kinds/apps/replica-set.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { formatTime, parseTime } from '../../../meta/time.ts';
import { type Condition, conditionOf, withCondition, withoutCondition } from '../conditions.ts';
import { boundsOf, sum, type Wanted } from './rollout-arithmetic.ts';

export type Status = NonNullable<ReturnType<typeof asDeployment>['status']>;

interface Observed {
  readonly name: string;
  readonly generation: number | undefined;
  readonly wanted: Wanted;
  /** Seconds without progress after which a roll-out has failed; undefined if it never does. */
  readonly deadlineSeconds: number | undefined;
  /** The status so far, with the conditions that this pass has set. */
  readonly before: Status;
  readonly present: ApiObject | undefined;
  readonly former: readonly ApiObject[];
  readonly nowMs: number;
}

/** Counts, and whether enough pods are available. */
export function statusAfter({ generation, wanted, before, present, former, nowMs }: Observed): Status {
  const sets = [...former, ...(present ? [present] : [])];
  const count = (of: readonly ApiObject[], field: 'replicas' | 'readyReplicas' | 'availableReplicas'): number =>
    sum(of, (set) => asReplicaSet(set).status?.[field] ?? 0);
  const available = count(sets, 'availableReplicas');
  const missing = sum(sets, (set) => asReplicaSet(set).spec?.replicas ?? 0) - available;
  const isEnough = available >= wanted.replicas - boundsOf(wanted).maxUnavailable;
  const condition = newCondition(
    'Available',
    isEnough ? 'True' : 'False',
    isEnough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    isEnough ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
    nowMs,
  );
  return withoutZeros({
    observedGeneration: generation,
    replicas: count(sets, 'replicas'),
    updatedReplicas: count(present ? [present] : [], 'replicas'),
    readyReplicas: count(sets, 'readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(missing, 0),
    collisionCount: before.collisionCount,
    conditions: withCondition(before.conditions, condition),
  });
}

/** The same of a roll-out that goes on: with its progress, and what its replica sets fail with. */
export function rolloutStatusAfter(observed: Observed): Status {
  const status = statusAfter(observed);
  const progressed = progressAfter(observed, status);
  const failure = failureOf(observed);
  const conditions = failure ? withCondition(progressed, failure) : withoutCondition(progressed, 'ReplicaFailure');
  return withoutZeros({ ...status, conditions });
}

function progressAfter(observed: Observed, status: Status): readonly Condition[] {
  const { deadlineSeconds, before, nowMs } = observed;
  const conditions: readonly Condition[] = status.conditions ?? [];
  if (deadlineSeconds === undefined) return withoutCondition(conditions, progressing);
  const current = conditionOf(before.conditions, progressing);
  const isDone =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable';
  if (isDone) return conditions;
  if (isComplete(observed, status)) {
    const message = `${whatOf(observed)} has successfully progressed.`;
    return withCondition(conditions, newCondition(progressing, 'True', 'NewReplicaSetAvailable', message, nowMs));
  }
  if (hasProgressed(before, status)) {
    const message = `${whatOf(observed)} is progressing.`;
    const condition = newCondition(progressing, 'True', 'ReplicaSetUpdated', message, nowMs);
    const since = current?.status === 'True' ? current.lastTransitionTime : condition.lastTransitionTime;
    // Its lastUpdateTime says when there was progress last, whatever the reason before.
    return withCondition(withoutCondition(conditions, progressing), { ...condition, lastTransitionTime: since });
  }
  if (hasTimedOut(conditionOf(conditions, progressing), deadlineSeconds, nowMs)) {
    const message = `${whatOf(observed)} has timed out progressing.`;
    return withCondition(conditions, newCondition(progressing, 'False', timedOut, message, nowMs));
  }
  return conditions;
}

const progressing = 'Progressing';
const timedOut = 'ProgressDeadlineExceeded';

const whatOf = ({ present, name }: Observed): string =>
  present ? `ReplicaSet ${JSON.stringify(nameOf(present))}` : `Deployment ${JSON.stringify(name)}`;

/** All wanted pods are of the present template, and available; no others are left. */
export const isComplete = (
  { wanted: { replicas }, generation = 0 }: Pick<Observed, 'wanted' | 'generation'>,
  status: Status,
): boolean =>
  (status.updatedReplicas ?? 0) === replicas &&
  (status.replicas ?? 0) === replicas &&
  (status.availableReplicas ?? 0) === replicas &&
  Number(status.observedGeneration ?? 0) >= generation;

const formerIn = ({ replicas = 0, updatedReplicas = 0 }: Status): number => replicas - updatedReplicas;

const hasProgressed = (before: Status, now: Status): boolean =>
  (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
  formerIn(now) < formerIn(before) ||
  (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
  (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0);

function hasTimedOut(condition: Condition | undefined, deadlineSeconds: number, nowMs: number): boolean {
  if (!condition || condition.reason === 'NewReplicaSetAvailable') return false;
  return condition.reason === timedOut || progressedAt(condition) + deadlineSeconds * 1_000 < nowMs;
}

const progressedAt = ({ lastUpdateTime }: Condition): number => parseTime(lastUpdateTime ?? '') ?? 0;

/** Milliseconds until it should be looked whether the roll-out has failed; undefined if it cannot, or already has. */
export function nextCheckMs(
  observed: Pick<Observed, 'wanted' | 'generation' | 'deadlineSeconds' | 'nowMs'>,
  status: Status,
): number | undefined {
  const condition = conditionOf(status.conditions, progressing);
  const { deadlineSeconds, nowMs } = observed;
  if (deadlineSeconds === undefined || !condition) return undefined;
  if (isComplete(observed, status) || condition.reason === timedOut) return undefined;
  // A second more: times are whole seconds.
  return Math.max(progressedAt(condition) + deadlineSeconds * 1_000 - nowMs, 0) + 1_000;
}

/** The failure of the replica set of the present template, or of one of the others. */
function failureOf({ present, former }: Observed): Condition | undefined {
  for (const set of [...(present ? [present] : []), ...former]) {
    const failure = conditionOf(asReplicaSet(set).status?.conditions, 'ReplicaFailure');
    const lastTransitionTime = failure?.lastTransitionTime ?? null;
    if (failure) return { ...failure, lastTransitionTime, lastUpdateTime: lastTransitionTime };
  }
  return undefined;
}

/** Whether a deployment that is paused or resumed does not say so yet: undefined if it does, or has failed before. */
export function pauseCondition({
  paused,
  status,
  nowMs,
}: {
  readonly paused: boolean;
  readonly status: Status;
  readonly nowMs: number;
}): Condition | undefined {
  const current = conditionOf(status.conditions, progressing);
  const isPaused = current?.reason === 'DeploymentPaused';
  if (current?.reason === timedOut || isPaused === paused) return undefined;
  return paused
    ? newCondition(progressing, 'Unknown', 'DeploymentPaused', 'Deployment is paused', nowMs)
    : newCondition(progressing, 'Unknown', 'DeploymentResumed', 'Deployment is resumed', nowMs);
}

export function newCondition(type: string, status: string, reason: string, message: string, nowMs: number): Condition {
  const now = formatTime(nowMs);
  return { type, status, lastUpdateTime: now, lastTransitionTime: now, reason, message };
}

/** Counts of 0 are not stored, but that of collisions. */
const withoutZeros = (status: Readonly<Record<string, unknown>>): Status =>
  Object.fromEntries(
    Object.entries(status).filter(([name, value]) => value !== undefined && (value !== 0 || name === 'collisionCount')),
  ) as Status;
