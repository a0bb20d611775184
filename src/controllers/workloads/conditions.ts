/** A condition in the status of a workload. */
export interface Condition {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | null | undefined;
  readonly lastUpdateTime?: string | null | undefined;
}

export const conditionOf = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string | undefined,
): C | undefined => conditions?.find((each) => each.type === type);

/**
 * With the condition, at the end, instead of one of its type. One with the same status and reason stays as it is; one with the
 * same status keeps its lastTransitionTime.
 */
export function withCondition<C extends Condition>(conditions: readonly C[] = [], condition: C): readonly C[] {
  const before = conditionOf(conditions, condition.type);
  if (before && before.status === condition.status && before.reason === condition.reason) return conditions;
  const since = before && before.status === condition.status ? before.lastTransitionTime : condition.lastTransitionTime;
  return [...withoutCondition(conditions, condition.type), { ...condition, lastTransitionTime: since ?? null }];
}

export const withoutCondition = <C extends Condition>(
  conditions: readonly C[] = [],
  type: string | undefined,
): readonly C[] => conditions.filter((each) => each.type !== type);
