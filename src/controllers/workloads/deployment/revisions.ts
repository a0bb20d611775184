import { limits } from '../../../base/limits.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { workloadNames } from '../../../dialect/workload-names.ts';
import type { ApiObject } from '../../../meta/api-object.ts';

type Annotations = Readonly<Record<string, string>>;

/** The revision of a replica set; 0 if it has none, undefined if it is no number. */
export function revisionOf({ metadata }: ApiObject, dialect: Dialect): number | undefined {
  const text = metadata.annotations?.[workloadNames(dialect).revision];
  return text === undefined ? 0 : numberIn(text);
}

const numberIn = (text: string): number | undefined => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined);

export const maxRevision = (sets: readonly ApiObject[], dialect: Dialect): number =>
  sets.reduce((max, set) => Math.max(max, revisionOf(set, dialect) ?? 0), 0);

/** The revision before the last one; 0 if there is none. */
export const lastRevision = (sets: readonly ApiObject[], dialect: Dialect): number =>
  [0, 0, ...sets.map((set) => revisionOf(set, dialect) ?? 0)].sort((a, b) => a - b).at(-2) ?? 0;

/** Annotations that are not copied between a deployment and its replica sets. */
const ownAnnotations = (dialect: Dialect): ReadonlySet<string> => {
  const { revision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo } = workloadNames(dialect);
  return new Set([dialect.lastAppliedAnnotation, revision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo]);
};

/** Annotations of the replica set of the present template: those of the deployment, and a revision above all others. */
export function annotationsOfPresent(
  before: Annotations,
  deployment: Annotations,
  newest: number,
  dialect: Dialect,
): Annotations {
  const { revision, revisionHistory } = workloadNames(dialect);
  const own = ownAnnotations(dialect);
  const copied = { ...before, ...Object.fromEntries(Object.entries(deployment).filter(([name]) => !own.has(name))) };
  const former = before[revision] ?? '';
  const current = former === '' ? 0 : numberIn(former);
  if (current === undefined || current >= newest) return copied;
  const history = former === '' ? undefined : historyWith(before[revisionHistory] ?? '', former);
  return {
    ...copied,
    [revision]: String(newest),
    ...(history !== undefined && { [revisionHistory]: history }),
  };
}

/** The revisions that a replica set has had, with one more; the oldest are left out of one that gets too long. */
function historyWith(history: string, revision: string): string {
  const revisions = [...history.split(',').filter((each) => each !== ''), revision];
  while (revisions.join(',').length > limits.revisionHistoryCharsMax) revisions.shift();
  return revisions.join(',');
}

/** Annotations of a deployment that goes back to the template of this replica set. */
export function annotationsForRollback(deployment: Annotations, set: Annotations, dialect: Dialect): Annotations {
  const own = ownAnnotations(dialect);
  const { rollbackTo } = workloadNames(dialect);
  return Object.fromEntries([
    ...Object.entries(deployment).filter(([name]) => own.has(name) && name !== rollbackTo),
    ...Object.entries(set).filter(([name]) => !own.has(name)),
  ]);
}

/** The revision that a deployment is to go back to, 0 for the last one; undefined if it is not. */
export function rollbackOf({ metadata }: ApiObject, dialect: Dialect): number | undefined {
  const text = metadata.annotations?.[workloadNames(dialect).rollbackTo] ?? '';
  return text === '' ? undefined : numberIn(text);
}
