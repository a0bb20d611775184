import { limits } from '../../../base/limits.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, invalid } from '../../../meta/field-error.ts';
import { badRequest, conflict, type Status, StatusError } from '../../../meta/status-error.ts';
import { formatTime } from '../../../meta/time.ts';
import { type Infer, ptr } from '../../../schema/schema.ts';
import type { ActionSubresource, ActionTarget, AnswerContext } from '../../kind.ts';
import { deleteOptions } from '../../meta/delete-options.ts';
import { kindSchema } from '../../meta/kind-schema.ts';
import { allowsUnready, budgetSelects, budgets, takeDisruption, tooManyDisruptions } from '../../policy/disruption.ts';
import { typed } from '../../typed.ts';
import { success } from './action-answer.ts';
import { setCondition } from './pod-conditions.ts';
import { asPod } from './pod-schema.ts';

const schema = kindSchema('api.policy.v1.Eviction', 'Asks that a pod leaves its node, within the budgets set for it.', {
  deleteOptions: ptr(2, deleteOptions, 'How to delete the pod.'),
});

type Options = Infer<typeof deleteOptions>;

/**
 * POST `pods/{name}/eviction`: deletes the pod, unless the disruption budget that selects it allows none at present
 * (KEP-85). Pods that do not run yet or any more are not guarded.
 */
export const podEviction = (dialect: Dialect): ActionSubresource => ({
  type: 'action',
  name: 'eviction',
  body: {
    ...{ group: dialect.group('policy'), version: 'v1', kind: 'Eviction', schema },
    // Clients of former releases send this one, which is no longer served.
    alsoFrom: [{ group: dialect.group('policy'), version: 'v1beta1' }],
  },
  prepare: ({ metadata }, { name }) => {
    if (metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object');
  },
  validate: (body) => validateOptions(optionsOf(body)),
  create: (body, target, context) => evict({ target, options: optionsOf(body), context }),
});

const optionsOf = (body: ApiObject): Options => typed(schema, body).deleteOptions ?? {};

const unsafeOption = 'ignoreStoreReadErrorWithClusterBreakingPotential';

const validateOptions = (options: Options): readonly FieldError[] =>
  options[unsafeOption]
    ? [invalid(`deleteOptions.${unsafeOption}`, true, 'can not be set for pod eviction, try after removing the option')]
    : [];

interface Eviction {
  readonly target: ActionTarget;
  readonly options: Options;
  readonly context: AnswerContext;
}

async function evict(eviction: Eviction): Promise<Status> {
  const pod = await removeUnguarded(eviction);
  if (!pod) return success();
  const { target, options, context } = eviction;
  const of = budgets(context.dialect);
  const found = await target.related(of, (budget) => budgetSelects(budget, pod));
  if (found.length > 1) return severalBudgets;
  const [budget] = found;
  const name = budget?.metadata.name ?? '';
  if (!budget) await remove(eviction);
  else if (!isReady(pod) && allowsUnready(budget)) {
    // It does not count as healthy, so nothing is disrupted as long as it stays so.
    await remove({ ...eviction, options: atVersion(options, pod) }).catch((error) => {
      throw isConflict(error) && !hasVersion(options) ? tooManyDisruptions(name) : error;
    });
  } else {
    const dryRun = (options.dryRun ?? []).length > 0;
    const take = (stored: ApiObject) => takeDisruption(stored, { podName: target.name, context });
    await target.updateStatus(of, name, take, { dryRun });
    await remove(eviction);
  }
  return success();
}

const severalBudgets: Status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  code: 500,
};

/** Deletes a pod that no budget guards. Gives the pod if there is one to be asked, undefined once it is deleted. */
async function removeUnguarded(eviction: Eviction): Promise<ApiObject | undefined> {
  const { target, options } = eviction;
  for (let attempt = 1; ; attempt++) {
    const pod = await target.read();
    const phase = asPod(pod).status?.phase;
    const isOver = phase === 'Succeeded' || phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined;
    if (!isOver && phase !== 'Pending') return pod;
    try {
      // A pod that starts meanwhile is guarded.
      await remove({ ...eviction, options: isOver || hasVersion(options) ? options : atVersion(options, pod) });
      return undefined;
    } catch (error) {
      if (!isConflict(error) || hasVersion(options) || attempt > limits.writeAttemptsMax) throw error;
    }
  }
}

/** Deletes the pod, which says first why it goes. */
async function remove({ target, options, context }: Eviction): Promise<void> {
  const body = { ...options, kind: 'DeleteOptions', apiVersion: 'v1', metadata: {} };
  if (target.dryRun || (options.dryRun ?? []).length > 0) return target.delete(body);
  const marked = await target.update((object, resourceVersion) => {
    checkPreconditions(object, options, resourceVersion);
    const pod = asPod(object);
    pod.status ??= {};
    setCondition(pod.status, evicted, formatTime(context.now));
  });
  return target.delete(hasVersion(options) ? { ...body, ...atVersion(options, marked) } : body);
}

const evicted = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
} as const;

const hasVersion = ({ preconditions }: Options): boolean => preconditions?.resourceVersion !== undefined;

const atVersion = (options: Options, { metadata: { resourceVersion } }: ApiObject): Options => ({
  ...options,
  preconditions: { ...options.preconditions, ...(resourceVersion !== undefined && { resourceVersion }) },
});

function checkPreconditions({ metadata }: ApiObject, { preconditions }: Options, found: string): void {
  const { uid = '', resourceVersion = '' } = preconditions ?? {};
  const refuse = (why: string) => conflict({ group: '', resource: 'Pod' }, metadata.name ?? '', why);
  if (uid !== '' && uid !== metadata.uid) {
    const recreated = 'The object might have been deleted and then recreated';
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ${recreated}`,
    );
  }
  if (resourceVersion !== '' && resourceVersion !== found) {
    const inRecord = `the ResourceVersion in record (${found}). The object might have been modified`;
    throw refuse(`the ResourceVersion in the precondition (${resourceVersion}) does not match ${inRecord}`);
  }
}

const isReady = (pod: ApiObject): boolean =>
  asPod(pod).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

const isConflict = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Conflict';
