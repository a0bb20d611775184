import { formatTime } from '../../meta/time.ts';
import type { DefinitionCondition, DefinitionHead } from './custom-resource-definition.ts';

/** The condition of a type, if the definition has one. */
export const findCondition = (
  { status }: Pick<DefinitionHead, 'status'>,
  type: string,
): DefinitionCondition | undefined => status.conditions?.find((each) => each.type === type);

export const isTrue = (definition: Pick<DefinitionHead, 'status'>, type: string): boolean =>
  findCondition(definition, type)?.status === 'True';

/** Sets conditions by type. The time of one whose status stays is kept. `now` is in milliseconds. */
export function withConditions(
  definition: Pick<DefinitionHead, 'status'>,
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

/** State of the removal of a definition. Texts are those of kube-apiserver. */
export const terminating = {
  pending: {
    ...{ type: 'Terminating', status: 'True', reason: 'InstanceDeletionPending' },
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  },
  inProgress: {
    ...{ type: 'Terminating', status: 'True', reason: 'InstanceDeletionInProgress' },
    message: 'CustomResource deletion is in progress',
  },
  /** Objects are still there after a while. */
  unconfirmed: {
    ...{ type: 'Terminating', status: 'True', reason: 'InstanceDeletionCheck' },
    message: 'could not confirm zero CustomResources remaining: timed out waiting for the condition',
  },
  failed: (error: unknown) => ({
    ...{ type: 'Terminating', status: 'True', reason: 'InstanceDeletionFailed' },
    message: `could not issue all deletes: ${error instanceof Error ? error.message : String(error)}`,
  }),
  neverEstablished: {
    ...{ type: 'Terminating', status: 'False', reason: 'NeverEstablished' },
    message: 'resource was never established',
  },
  completed: {
    ...{ type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted' },
    message: 'removed all instances',
  },
} as const satisfies Readonly<Record<string, DefinitionCondition | ((error: unknown) => DefinitionCondition)>>;

/** Whether a definition is served. Once it is, it stays so. */
export const establishedConditions = {
  accepted: {
    ...{ type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
    message: 'the initial names have been accepted',
  },
  notAccepted: {
    ...{ type: 'Established', status: 'False', reason: 'NotAccepted' },
    message: 'not all names are accepted',
  },
  invalidCaBundle: {
    ...{ type: 'Established', status: 'False', reason: 'InvalidCABundle' },
    message: 'The conversion webhook CABundle is invalid',
  },
} as const satisfies Readonly<Record<string, DefinitionCondition>>;
