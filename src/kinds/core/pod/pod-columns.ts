import type { RowCondition } from '../../../codec/table.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { age, ageColumn, column, nameColumn, none, wide } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import { asPod, type Pod } from './pod-schema.ts';
import { summarize } from './pod-summary.ts';

/** The table columns of pods, as in Kubernetes. */
export const podColumns: readonly Column[] = [
  nameColumn,
  column('Ready', 'Containers that are ready, of those that the pod has.', (object) => {
    const { ready, total } = summarize(object);
    return `${ready}/${total}`;
  }),
  column(
    'Status',
    'Where the pod is in its life, or what keeps it from going on.',
    (object) => summarize(object).status,
  ),
  column('Restarts', 'How often the containers were restarted, and how long ago that last was.', restarts),
  ageColumn,
  column('IP', 'Address of the pod.', '.status.podIPs[0].ip', { ...wide, absent: none }),
  column('Node', 'Node that the pod is assigned to.', '.spec.nodeName', { ...wide, absent: none }),
  column('Nominated Node', 'Node on which room is being made for the pod.', '.status.nominatedNodeName', {
    ...wide,
    absent: none,
  }),
  column(
    'Readiness Gates',
    'Conditions of the readiness gates that are true, of all of them.',
    (object) => readinessGates(asPod(object)),
    wide,
  ),
];

/** Rows of pods that have ended are marked. */
export function podRowConditions(object: ApiObject): readonly RowCondition[] {
  const { phase = '' } = asPod(object).status ?? {};
  const message = endings.get(phase);
  return message === undefined ? [] : [{ type: 'Completed', status: 'True', reason: phase, message }];
}

/** What is said of a pod in the phases in which it has ended. */
const endings: ReadonlyMap<string, string> = new Map([
  ['Succeeded', 'The pod has completed successfully.'],
  ['Failed', 'The pod failed.'],
]);

function restarts(object: ApiObject, now: number): string {
  const { restartCount, lastRestart } = summarize(object);
  return restartCount > 0 && lastRestart ? `${restartCount} (${age(lastRestart, now)} ago)` : `${restartCount}`;
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return none;
  const conditions = status?.conditions ?? [];
  const holding = new Set(conditions.filter((condition) => condition.status === 'True').map(({ type }) => type));
  const passed = gates.filter(({ conditionType }) => holding.has(conditionType));
  return `${passed.length}/${gates.length}`;
}
