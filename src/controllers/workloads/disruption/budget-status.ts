import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { asBudget } from '../../../kinds/policy/pod-disruption-budget.ts';
import { formatTime, parseTime } from '../../../meta/time.ts';
import { isReady } from '../pod-state.ts';

type Budget = ReturnType<typeof asBudget>;
type BudgetStatus = NonNullable<Budget['status']>;

/** How long an eviction may take, once it was granted, until it counts as not done. */
export const evictionMs = 2 * 60_000;

/** Pods that there should be, and how many of them are to be healthy. */
interface Expected {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/** True if the budget asks for a part of what the controllers of the pods want, and not for a number of pods. */
export const needsScale = ({ spec }: Budget): boolean =>
  spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';

/** `scale`: what the controllers of the pods want together, if the budget needs it. */
export function expectedBy({ spec }: Budget, pods: number, scale: number): Expected {
  const { maxUnavailable, minAvailable } = spec ?? {};
  if (maxUnavailable !== undefined) {
    return { expectedPods: scale, desiredHealthy: Math.max(scale - partOf(maxUnavailable, scale), 0) };
  }
  if (typeof minAvailable === 'string') return { expectedPods: scale, desiredHealthy: partOf(minAvailable, scale) };
  return minAvailable === undefined
    ? { expectedPods: 0, desiredHealthy: 0 }
    : { expectedPods: pods, desiredHealthy: minAvailable };
}

/** Percentages are rounded up. */
const partOf = (value: number | string, total: number): number =>
  typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);

interface Observed {
  readonly budget: Budget;
  readonly pods: readonly Pod[];
  readonly expected: Expected;
  readonly nowMs: number;
}

/** The status after a pass, and the milliseconds until a granted eviction has taken too long, if there is one. */
export function budgetStatusAfter({ budget, pods, expected, nowMs }: Observed): {
  readonly status: BudgetStatus;
  readonly waitMs: number | undefined;
} {
  const { metadata, status: before = {} } = budget;
  const granted = new Map(
    pods
      .filter((pod) => !pod.metadata?.deletionTimestamp)
      .flatMap(({ metadata: { name = '' } = {} }) => {
        const since = before.disruptedPods?.[name];
        const due = (parseTime(since ?? '') ?? 0) + evictionMs;
        return since !== undefined && since !== null && due >= nowMs ? [[name, { since, due }] as const] : [];
      }),
  );
  const isHealthy = (pod: Pod): boolean =>
    !pod.metadata?.deletionTimestamp && !granted.has(pod.metadata?.name ?? '') && isReady(pod);
  const currentHealthy = pods.filter(isHealthy).length;
  const spare = currentHealthy - expected.desiredHealthy;
  const disruptionsAllowed = expected.expectedPods > 0 ? Math.max(spare, 0) : 0;
  const observedGeneration = metadata?.generation ?? 0;
  const condition = {
    status: disruptionsAllowed > 0 ? 'True' : 'False',
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    ...{ message: '', observedGeneration },
  } as const;
  const dues = [...granted.values()].map(({ due }) => due);
  return {
    status: {
      observedGeneration,
      ...(granted.size > 0 && {
        disruptedPods: Object.fromEntries(Array.from(granted, ([name, { since }]) => [name, since])),
      }),
      ...{ disruptionsAllowed, currentHealthy, ...expected },
      conditions: withAllowed(before, condition, nowMs),
    },
    waitMs: dues.length > 0 ? Math.max(Math.min(...dues) - nowMs, 0) + 1 : undefined,
  };
}

/** The status of a budget whose numbers are unknown: nothing may be evicted. */
export const failedStatus = ({ status: before = {} }: Budget, message: string, nowMs: number): BudgetStatus => ({
  ...before,
  disruptionsAllowed: 0,
  conditions: withAllowed(
    before,
    { status: 'False', reason: 'SyncFailed', message, observedGeneration: before.observedGeneration ?? 0 },
    nowMs,
  ),
});

interface Allowed {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number | bigint;
}

/** Replaces the condition in its place; its lastTransitionTime changes with its status only. */
function withAllowed(
  { conditions = [] }: BudgetStatus,
  { status, ...rest }: Allowed,
  nowMs: number,
): NonNullable<BudgetStatus['conditions']> {
  const type = 'DisruptionAllowed';
  const before = conditions.find((each) => each.type === type);
  const lastTransitionTime =
    before?.status === status ? (before.lastTransitionTime ?? formatTime(nowMs)) : formatTime(nowMs);
  const next = { type, status, ...rest, lastTransitionTime };
  return (before ? conditions.map((each) => (each === before ? next : each)) : [...conditions, next]) as NonNullable<
    BudgetStatus['conditions']
  >;
}
