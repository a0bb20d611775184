import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { PodTemplateSpec } from '../../kinds/core/pod/pod-template-spec.ts';
import { formatTime } from '../../meta/time.ts';
import { type Condition, conditionOf, withCondition, withoutCondition } from './conditions.ts';
import { messageOf } from './pod-control.ts';
import { isAvailable, isReady } from './pod-state.ts';

export interface ReplicaStatus {
  readonly replicas?: number | undefined;
  readonly fullyLabeledReplicas?: number | undefined;
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  readonly observedGeneration?: number | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

interface Observed {
  /** Active pods that belong to the object, before this pass created or deleted any. */
  readonly pods: readonly Pod[];
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly template: PodTemplateSpec;
  readonly generation: number | undefined;
  /** What creating or deleting pods failed with. */
  readonly failure: { readonly error: unknown } | undefined;
  readonly nowMs: number;
}

/** The status after a pass. Counts of 0 but `replicas` are left out, as they are stored. */
export function replicaStatusAfter(before: ReplicaStatus, observed: Observed): ReplicaStatus {
  const { pods, minReadySeconds, template, generation, nowMs } = observed;
  const labels = Object.entries(template.metadata?.labels ?? {});
  const isFullyLabeled = ({ metadata }: Pod): boolean =>
    labels.every(([name, value]) => metadata?.labels?.[name] === value);
  const conditions = conditionsAfter(before.conditions ?? [], observed);
  const count = (counts: (pod: Pod) => boolean): number | undefined => pods.filter(counts).length || undefined;
  return {
    replicas: pods.length,
    fullyLabeledReplicas: count(isFullyLabeled),
    readyReplicas: count(isReady),
    availableReplicas: count((pod) => isAvailable(pod, minReadySeconds, nowMs)),
    observedGeneration: generation,
    conditions: conditions.length > 0 ? conditions : undefined,
  };
}

function conditionsAfter(
  before: readonly Condition[],
  { failure, pods, replicas, nowMs }: Observed,
): readonly Condition[] {
  const type = 'ReplicaFailure';
  if (!failure) return withoutCondition(before, type);
  if (conditionOf(before, type)) return before;
  const reason = pods.length < replicas ? 'FailedCreate' : 'FailedDelete';
  const lastTransitionTime = formatTime(nowMs);
  return withCondition(before, { type, status: 'True', lastTransitionTime, reason, message: messageOf(failure.error) });
}
