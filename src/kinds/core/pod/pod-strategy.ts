import { limits } from '../../../base/limits.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { Strategy, StrategyContext } from '../../kind.ts';
import type { Affinity } from './affinity.ts';
import { syncAppArmor } from './app-armor.ts';
import { validateMirrorUpdate } from './mirror-pod.ts';
import { setCondition } from './pod-conditions.ts';
import { defaultPod } from './pod-defaults.ts';
import { asPod } from './pod-schema.ts';
import { nameWarnings, podWarnings } from './pod-warnings.ts';
import { qosClass } from './qos-class.ts';
import { validateAppArmorChange } from './validation/annotation-validation.ts';
import { validatePodUpdate } from './validation/pod-update-validation.ts';
import { validatePodCreate } from './validation/pod-validation.ts';

export const podStrategy = (dialect: Dialect): Strategy => ({
  default: defaultPod,
  prepareForCreate,
  completeNew: classify,
  validateCreate: (object) => validatePodCreate(object, dialect),
  prepareForUpdate: (object, old) => {
    object['status'] = old['status'];
  },
  validateUpdate: (object, old) => validatePodUpdate(object, old, dialect),
  validateEveryUpdate: (object, old) => [
    ...validateMirrorUpdate(object, old, dialect),
    ...validateAppArmorChange(object.metadata.annotations ?? {}, old.metadata.annotations ?? {}, dialect),
  ],
  warnings: (object, old) => (old ? [] : warningsOnCreate(object, dialect)),
  gracePeriodSeconds,
});

/** A negative grace period is the shortest one. Resets status to Pending with the QoS class; a pod with scheduling gates gets the condition for them. */
function prepareForCreate(object: ApiObject, context: StrategyContext): void {
  const pod = asPod(object);
  const { spec = { containers: [] } } = pod;
  pod.status = { phase: 'Pending', qosClass: qosClass(spec) };
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  if (spec.schedulingGates?.length) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    setCondition(pod.status, { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message }, null);
  }
  syncAppArmor(object, context);
  if (spec.affinity) selectByOwnLabels(spec.affinity, object.metadata.labels ?? {});
}

/** Admission may have given the containers other resources. */
function classify(object: ApiObject): void {
  const { spec, status } = asPod(object);
  if (spec && status) status.qosClass = qosClass(spec);
}

type PodAffinityTerm = NonNullable<
  NonNullable<Affinity['podAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
>[number];

/** Merges the pod's labels named by `matchLabelKeys` and `mismatchLabelKeys` into the selectors of affinity terms. */
function selectByOwnLabels({ podAffinity, podAntiAffinity }: Affinity, labels: Readonly<Record<string, string>>): void {
  for (const affinity of [podAffinity, podAntiAffinity]) {
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of required) narrow(term, labels);
    for (const { podAffinityTerm } of preferred) if (podAffinityTerm) narrow(podAffinityTerm, labels);
  }
}

function narrow(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: PodAffinityTerm,
  labels: Readonly<Record<string, string>>,
): void {
  if (!labelSelector) return;
  const added = [
    ...matchLabelKeys.map((key) => ({ key, operator: 'In' })),
    ...mismatchLabelKeys.map((key) => ({ key, operator: 'NotIn' })),
  ].flatMap(({ key, operator }) =>
    Object.hasOwn(labels, key) ? [{ key, operator, values: [labels[key] ?? ''] }] : [],
  );
  if (added.length > 0) labelSelector.matchExpressions = [...(labelSelector.matchExpressions ?? []), ...added];
}

/**
 * A scheduled pod gets a grace period; one without a node, or finished, is deleted immediately. The pod stays, terminating,
 * until the kubelet removes it by a deletion with 0 seconds.
 */
function gracePeriodSeconds(object: ApiObject, requested: number | undefined): number {
  const { spec, status } = asPod(object);
  if (!spec?.nodeName || status?.phase === 'Succeeded' || status?.phase === 'Failed') return 0;
  const seconds = Number(requested ?? spec.terminationGracePeriodSeconds ?? 0);
  return seconds < 0 ? 1 : Math.min(seconds, limits.graceSecondsMax);
}

/** Updates get none: pods are rarely written by hand. */
const warningsOnCreate = (object: ApiObject, dialect: Dialect): readonly string[] => [
  ...nameWarnings(object.metadata.name ?? '', "the Pod's hostname"),
  ...podWarnings(asPod(object), { path: '', dialect }),
];
