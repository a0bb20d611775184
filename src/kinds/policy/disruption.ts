import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { forbiddenObject, type ResourceName, StatusError } from '../../meta/status-error.ts';
import { formatTime } from '../../meta/time.ts';
import type { AnswerContext, RelatedResource } from '../kind.ts';
import { readLabelSelector, selectsLabels } from '../meta/label-selector.ts';
import { asBudget } from './pod-disruption-budget.ts';

/** The resource of disruption budgets. */
export const budgets = (dialect: Dialect): RelatedResource => ({
  group: dialect.group('policy'),
  version: 'v1',
  resource: 'poddisruptionbudgets',
});

/** Whether a budget of the pod's namespace is about it. Without a selector it is about none. */
export function budgetSelects(budget: ApiObject, { metadata: { labels } }: ApiObject): boolean {
  const { selector } = asBudget(budget).spec ?? {};
  const read = selector && readLabelSelector(selector);
  return read !== undefined && selectsLabels(read, labels);
}

/** Whether a pod that is not ready may go without being counted (KEP-3017). */
export function allowsUnready(budget: ApiObject): boolean {
  const { spec, status } = asBudget(budget);
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow' || (desiredHealthy > 0 && currentHealthy >= desiredHealthy);
}

interface Disruption {
  readonly podName: string;
  readonly context: Pick<AnswerContext, 'now' | 'dialect'>;
}

/**
 * Takes one of the disruptions that a budget allows, and notes whose it is, so that its controller counts that pod as gone.
 * Throws TooManyRequests if it allows none, or was not looked at since it changed.
 */
export function takeDisruption(object: ApiObject, { podName, context }: Disruption): void {
  const budget = asBudget(object);
  const name = object.metadata.name ?? '';
  const status = budget.status ?? {};
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {}, desiredHealthy = 0, currentHealthy = 0 } = status;
  if (observedGeneration < (object.metadata.generation ?? 0)) throw tooManyDisruptions(name);
  if (disruptionsAllowed < 0) throw forbiddenObject(named(context.dialect), name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > limits.disruptedPodsMax) {
    throw forbiddenObject(named(context.dialect), name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (disruptionsAllowed === 0) {
    throw refused(0, `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`);
  }
  const now = formatTime(context.now);
  const left = disruptionsAllowed - 1;
  budget.status = {
    ...status,
    disruptionsAllowed: left,
    ...(left === 0 && { conditions: exhausted(status, now) }),
    disruptedPods: { ...disruptedPods, [podName]: now },
  };
}

type Status = NonNullable<ReturnType<typeof asBudget>['status']>;

/** The conditions of a budget that allows no further disruption. */
function exhausted({ conditions = [], observedGeneration }: Status, now: string): NonNullable<Status['conditions']> {
  const type = 'DisruptionAllowed';
  const old = conditions.find((each) => each.type === type);
  const condition = {
    type,
    status: 'False',
    ...(observedGeneration !== undefined && { observedGeneration }),
    lastTransitionTime: (old?.status === 'False' && old.lastTransitionTime) || now,
    reason: 'InsufficientPods',
    message: '',
  };
  return old ? conditions.map((each) => (each === old ? condition : each)) : [...conditions, condition];
}

/** The budget cannot tell at present. */
export const tooManyDisruptions = (budgetName: string): StatusError => refused(10, `The disruption budget ${budgetName} is still being processed by the server.`);

const refused = (retryAfterSeconds: number, message: string): StatusError =>
  new StatusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    details: {
      ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
      causes: [{ reason: 'DisruptionBudget', message }],
    },
  });

/** As errors name the resource. */
const named = (dialect: Dialect): ResourceName => ({ group: dialect.group('policy'), resource: 'poddisruptionbudget' });
