import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { always, bool, documentedEnum, type Infer, int32, int64, intOrString, mergeList, opt, ptr, req, string, struct, time } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec, podTemplateSpec } from '../core/pod/pod-template-spec.ts';
import { amountOf, invalidAmount, ownerWarnings, replicasScale, selectorColumn, validateAtMostAll, validateIntOrPercent, validateNotEmpty, validateOwnTemplate } from '../core/pod/replaced-pods.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { clearStatus, keepSpec, statusView, validateCollisionCount, validateCountParts } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const rollingUpdate = struct('api.apps.v1.RollingUpdateDeployment', 'How far a roll-out may leave the wanted number of pods.', {
  maxUnavailable: ptr(1, intOrString(), 'Pods that may be missing meanwhile: a number, or a percentage of the wanted ones.'),
  maxSurge: ptr(2, intOrString(), 'Pods that may be there beyond the wanted ones meanwhile: a number, or a percentage of them.'),
});

const strategy = struct('api.apps.v1.DeploymentStrategy', 'How pods are replaced when the template changes.', {
  type: opt(1, documentedEnum('Recreate', 'RollingUpdate'), '`RollingUpdate`, or `Recreate`, which stops all former pods first.', { default: 'RollingUpdate' }),
  rollingUpdate: ptr(2, rollingUpdate, 'Bounds of a rolling update.'),
});

const spec = struct('api.apps.v1.DeploymentSpec', 'How many pods there should be, of what kind, and how they are replaced.', {
  replicas: ptr(1, int32({ minimum: 0 }), 'Wanted number of pods.', { default: 1 }),
  selector: req(2, labelSelector, 'Selects the pods that are counted, those of the template among them; it never changes.', { immutable: 'always' }),
  template: always(3, podTemplateSpec, 'What pods are made of; they restart always.', { documented: 'required', checkedWhile: { valid: 'selector' } }),
  strategy: always(4, strategy, 'How pods of a former template are replaced.', { patchStrategy: 'retainKeys' }),
  minReadySeconds: opt(5, int32({ minimum: 0 }), 'Seconds that a pod must be ready before it counts as available.'),
  revisionHistoryLimit: ptr(6, int32({ minimum: 0 }), 'Replica sets of former templates that are kept to go back to.', { default: 10 }),
  paused: opt(7, bool(), 'Keep changes of the template from being rolled out.'),
  progressDeadlineSeconds: ptr(9, int32({ minimum: 0 }), 'Seconds without progress after which a roll-out counts as failed.', { default: 600 }),
});

const condition = struct('api.apps.v1.DeploymentCondition', 'One aspect of the state of a deployment.', {
  type: always(1, string(), 'Name of the aspect.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastUpdateTime: always(6, time(), 'When the condition was last updated.'),
  lastTransitionTime: always(7, time(), 'When the status last changed.'),
  reason: opt(4, string(), 'Machine-readable reason of the last change.'),
  message: opt(5, string(), 'The reason in words.'),
});

const status = struct('api.apps.v1.DeploymentStatus', 'How many pods there are, and how far a roll-out is.', {
  observedGeneration: opt(1, int64({ minimum: 0 }), 'The generation that the controller last acted on.'),
  replicas: opt(2, int32({ minimum: 0 }), 'Pods that are not being deleted.'),
  updatedReplicas: opt(3, int32({ minimum: 0 }), 'Pods of the present template.'),
  readyReplicas: opt(7, int32({ minimum: 0 }), 'Pods that are ready.'),
  availableReplicas: opt(4, int32({ minimum: 0 }), 'Pods that have been ready for long enough.'),
  unavailableReplicas: opt(5, int32({ minimum: 0 }), 'Pods that are missing, or not available yet.'),
  conditions: opt(6, mergeList('type', condition, { duplicatesAllowed: true }), 'What is known of the state.'),
  collisionCount: ptr(8, int32({ minimum: 0 }), 'Names of replica sets that were taken; part of the next name.'),
});

const schema = kindSchema('api.apps.v1.Deployment', 'Keeps a number of equal pods running, and replaces them step by step when their template changes.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, status, 'What was last observed.'),
});

const parts = [
  ['updatedReplicas', 'replicas', 'status.replicas'],
  ['readyReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'readyReplicas', 'readyReplicas'],
] as const;

/** Casts a decoded object to its static type. */
export const asDeployment = (object: ApiObject) => typed(schema, object);

const specOf = (object: ApiObject): Partial<Infer<typeof spec>> => typed(schema, object).spec ?? {};
const templateOf = (object: ApiObject): PodTemplateSpec => specOf(object).template ?? {};

function fillDefaults(object: ApiObject): void {
  defaultPodTemplate(templateOf(object));
  const chosen = specOf(object).strategy;
  if (chosen?.type === 'RollingUpdate') chosen.rollingUpdate = { maxUnavailable: '25%', maxSurge: '25%', ...chosen.rollingUpdate };
}

function validate(object: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const { selector, minReadySeconds = 0, progressDeadlineSeconds, strategy: chosen = {} } = specOf(object);
  const tooShort = progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds;
  return [
    ...validateNotEmpty(selector, 'deployment'),
    ...validateOwnTemplate(templateOf(object), selector, { path: 'spec.template', owner: 'ReplicaSet', dialect }),
    ...validateStrategy(chosen, 'spec.strategy'),
    ...(tooShort ? [invalid('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds')] : []),
  ];
}

function validateStrategy(chosen: Infer<typeof strategy>, path: string): FieldError[] {
  const { type, rollingUpdate: bounds } = chosen;
  switch (type) {
    case 'Recreate':
      return bounds ? [forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")] : [];
    case 'RollingUpdate':
      return bounds ? validateBounds(bounds, `${path}.rollingUpdate`) : [required(`${path}.rollingUpdate`, 'this should be defaulted and never be nil')];
    default:
      return [shownAsGo(notSupported(path, chosen, ['Recreate', 'RollingUpdate']), strategy)];
  }
}

function validateBounds({ maxUnavailable, maxSurge }: Infer<typeof rollingUpdate>, path: string): FieldError[] {
  const stuck = amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0;
  return [
    ...validateIntOrPercent(maxUnavailable, `${path}.maxUnavailable`),
    ...validateIntOrPercent(maxSurge, `${path}.maxSurge`),
    ...(stuck ? [invalidAmount(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')] : []),
    ...validateAtMostAll(maxUnavailable, `${path}.maxUnavailable`),
  ];
}

/** Unlike those of other kinds, the labels of a deployment stay, too, when its status is written. */
function keepLabels(object: ApiObject, old: ApiObject): void {
  keepSpec(object, old);
  delete object.metadata.labels;
  if (old.metadata.labels) object.metadata.labels = cloneJson(old.metadata.labels);
}

const ready = (object: ApiObject): string => `${typed(schema, object).status?.readyReplicas ?? 0}/${specOf(object).replicas ?? 0}`;

export const deployment = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('apps'),
    kind: 'Deployment',
    shortNames: ['deploy'],
    categories: ['all'],
    schema,
    columns: [
      nameColumn,
      column('Ready', 'Pods that are ready, of those that are wanted.', ready),
      column('Up-to-date', 'Pods of the present template.', { path: '.status.updatedReplicas', absent: 0 }),
      column('Available', 'Pods that are available.', { path: '.status.availableReplicas', absent: 0 }),
      ageColumn,
      ...containerColumns(templateOf, wide),
      selectorColumn((object) => specOf(object).selector, ''),
    ],
    strategy: {
      default: fillDefaults,
      prepareForCreate: clearStatus(schema),
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: ownerWarnings(templateOf, dialect),
    },
    subresources: [
      {
        ...statusView((object, old) => [...validateCountParts(object, parts), ...validateCollisionCount(object, old)]),
        prepareForUpdate: keepLabels,
        resetFields: [['spec'], ['metadata', 'labels']],
      },
      replicasScale('labelSelector', { absentName: scaleName, patchedName: scaleName }),
    ],
    generation: true,
    generationCounts: 'annotations',
  });

const scaleName = { group: 'apps', resource: 'deployments/scale' };
