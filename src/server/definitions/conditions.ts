import type { DefinitionCondition, DefinitionHead } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { formatTime } from '../../schema/time.ts';

/** The condition of a type, if the definition has one. */
const findCondition = ({ status }: DefinitionHead, type: string): DefinitionCondition | undefined =>
  status.conditions?.find((each) => each.type === type);

export const isTrue = (definition: DefinitionHead, type: string): boolean =>
  findCondition(definition, type)?.status === 'True';

/** Sets conditions by type. The time of one whose status stays is kept. `now` is in milliseconds. */
export function withConditions(
  definition: DefinitionHead,
  changed: readonly DefinitionCondition[],
  now: number,
): DefinitionCondition[] {
  const conditions = [...(definition.status.conditions ?? [])];
  for (const condition of changed) {
    const at = conditions.findIndex(({ type }) => type === condition.type);
    const before = conditions[at];
    const since = before?.status === condition.status ? before?.lastTransitionTime : undefined;
    const next = { ...condition, lastTransitionTime: since ?? formatTime(now) };
    if (at < 0) conditions.push(next);
    else conditions[at] = next;
  }
  return conditions;
}
