import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, notSupportedOf } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { type GoForms, shownAsGo } from '../../schema/go-text.ts';
import { always, documentedEnum, type Infer, int32, int64, intOrString, list, mergeList, opt, ptr, req, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import { persistentVolumeClaimSchema } from '../core/persistent-volume-claim-schema.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec, podTemplateSpec, templateWarnings, validateTemplateMetadata } from '../core/pod/pod-template-spec.ts';
import { fractionalStorage } from '../core/pod/pod-warnings.ts';
import {
  amountOf,
  invalidAmount,
  isReadable,
  replicasScale,
  unreadableSelector,
  validateAtMostAll,
  validateIntOrPercent,
  validateNotEmpty,
  validateReplaced,
  validateSelected,
} from '../core/pod/replaced-pods.ts';
import { roundUpAmounts } from '../core/resource-amounts.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { clearStatus, kindCondition, statusView, validateCollisionCount, validateCountParts } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const rollingUpdate = struct('api.apps.v1.RollingUpdateStatefulSetStrategy', 'Bounds of a roll-out, from the highest ordinal down.', {
  partition: ptr(1, int32({ minimum: 0 }), 'Ordinal from which pods are replaced; those below stay as they are.'),
  maxUnavailable: ptr(2, intOrString(), 'Pods that may be missing meanwhile: a number, or a percentage of the wanted ones.', { gate: 'MaxUnavailableStatefulSet' }),
});

const updateStrategy = struct('api.apps.v1.StatefulSetUpdateStrategy', 'How pods are replaced when the template changes.', {
  type: opt(1, documentedEnum('OnDelete', 'RollingUpdate'), '`RollingUpdate`, or `OnDelete`, which replaces pods that somebody deletes.'),
  rollingUpdate: ptr(2, rollingUpdate, 'Bounds of a rolling update.'),
});

const forms: GoForms = {
  'api.apps.v1.RollingUpdateStatefulSetStrategy': { values: ['partition'] },
};

const retentionPolicy = struct('api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy', 'What becomes of claims that are no longer used.', {
  whenDeleted: opt(1, string(), '`Retain`, or `Delete`, when the stateful set is deleted.'),
  whenScaled: opt(2, string(), '`Retain`, or `Delete`, when there are fewer replicas.'),
});

const ordinals = struct('api.apps.v1.StatefulSetOrdinals', 'How pods are numbered.', {
  start: always(1, int32({ minimum: 0 }), 'Number of the first pod.', { documented: 'optional' }),
});

const spec = struct(
  'api.apps.v1.StatefulSetSpec',
  'How many pods there should be, each with a name and storage of its own.',
  {
    replicas: ptr(1, int32({ minimum: 0 }), 'Wanted number of pods.', { default: 1 }),
    selector: req(2, labelSelector, 'Selects the pods that are counted, those of the template among them; it never changes.'),
    template: always(3, podTemplateSpec, 'What pods are made of; they restart always.', { documented: 'required', checkedWhile: { valid: 'selector' } }),
    volumeClaimTemplates: opt(4, list(persistentVolumeClaimSchema), 'Claims that each pod gets, and keeps when it is replaced.', { keepsGatedFields: true }),
    serviceName: always(5, string(), 'Service that gives the pods their names in the DNS.'),
    podManagementPolicy: opt(6, documentedEnum('OrderedReady', 'Parallel'), '`OrderedReady`, one pod after the other, or `Parallel`.', { default: 'OrderedReady' }),
    updateStrategy: always(7, updateStrategy, 'How pods of a former template are replaced.'),
    revisionHistoryLimit: ptr(8, int32(), 'Revisions of former templates that are kept to go back to.', { default: 10 }),
    minReadySeconds: opt(9, int32({ minimum: 0 }), 'Seconds that a pod must be ready before it counts as available.'),
    persistentVolumeClaimRetentionPolicy: ptr(10, retentionPolicy, 'What becomes of claims that are no longer used.', { default: {} }),
    ordinals: ptr(11, ordinals, 'How pods are numbered; from 0 unless set.'),
  },
  { checkedFirst: ['podManagementPolicy', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', 'replicas', 'minReadySeconds', 'ordinals'] },
);

const status = struct('api.apps.v1.StatefulSetStatus', 'How many pods there are, and how far a roll-out is.', {
  observedGeneration: opt(1, int64({ minimum: 0 }), 'The generation that the controller last acted on.'),
  replicas: always(2, int32({ minimum: 0 }), 'Pods that were last counted.'),
  readyReplicas: opt(3, int32({ minimum: 0 }), 'Pods that are ready.'),
  currentReplicas: opt(4, int32({ minimum: 0 }), 'Pods of the current revision.'),
  updatedReplicas: opt(5, int32({ minimum: 0 }), 'Pods of the revision that is rolled out.'),
  currentRevision: opt(6, string(), 'Revision of the pods that are not replaced yet.'),
  updateRevision: opt(7, string(), 'Revision that is rolled out.'),
  collisionCount: ptr(9, int32({ minimum: 0 }), 'Names of revisions that were taken; part of the next name.'),
  conditions: opt(10, mergeList('type', kindCondition('api.apps.v1.StatefulSet'), { duplicatesAllowed: true }), 'What is known of the state.'),
  availableReplicas: always(11, int32({ minimum: 0 }), 'Pods that have been ready for long enough.', { documented: 'optional' }),
});

const schema = kindSchema('api.apps.v1.StatefulSet', 'Keeps numbered pods running, each with a name and storage that it keeps.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, status, 'What was last observed.'),
});

/** Casts a decoded object to its static type. */
export const asStatefulSet = (object: ApiObject) => typed(schema, object);

const specOf = (object: ApiObject): Partial<Infer<typeof spec>> => typed(schema, object).spec ?? {};
const templateOf = (object: ApiObject): PodTemplateSpec => specOf(object).template ?? {};

function fillDefaults(object: ApiObject): void {
  defaultPodTemplate(templateOf(object));
  const { updateStrategy: chosen, persistentVolumeClaimRetentionPolicy: policy, volumeClaimTemplates = [] } = specOf(object);
  if (chosen && chosen.type === undefined) {
    chosen.type = 'RollingUpdate';
    chosen.rollingUpdate ??= {};
  }
  if (chosen?.type === 'RollingUpdate' && chosen.rollingUpdate) chosen.rollingUpdate.partition ??= 0;
  if (policy) {
    policy.whenDeleted ??= 'Retain';
    policy.whenScaled ??= 'Retain';
  }
  for (const claim of volumeClaimTemplates) {
    Object.assign(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' });
    roundUpAmounts(claim.spec?.resources?.requests);
    roundUpAmounts(claim.spec?.resources?.limits);
  }
}

/**
 * Unlike in other kinds, rules across fields of the template's spec are left to the pods: a template may mount volumes of claims that only pods
 * have.
 */
function validate(object: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const { selector, podManagementPolicy, updateStrategy: chosen = {}, persistentVolumeClaimRetentionPolicy: policy } = specOf(object);
  const template = templateOf(object);
  const known = podManagementPolicy === 'OrderedReady' || podManagementPolicy === 'Parallel';
  return [
    ...(known ? [] : [invalid('spec.podManagementPolicy', podManagementPolicy, "must be 'OrderedReady' or 'Parallel'")]),
    ...validateStrategy(chosen, 'spec.updateStrategy'),
    ...(['whenDeleted', 'whenScaled'] as const).flatMap((when) => validateRetention(policy?.[when], `spec.persistentVolumeClaimRetentionPolicy.${when}`)),
    ...validateNotEmpty(selector, 'statefulset'),
    ...(selector && !isReadable(selector)
      ? [unreadableSelector(selector, '')]
      : [...validateSelected(selector, template, 'spec.template'), ...validateTemplateMetadata(template, 'spec.template', dialect)]),
    ...validateReplaced(template, 'spec.template', 'StatefulSet'),
  ];
}

/** The paths are the published ones: without the field, and of an update with its name in Go. */
const claimWarnings = (object: ApiObject, old: ApiObject | undefined): readonly string[] =>
  (specOf(object).volumeClaimTemplates ?? []).flatMap(({ spec: claim }, index) => fractionalStorage(claim?.resources, `spec.volumeClaimTemplates[${index}]${old ? '.Spec' : ''}`));

const validateRetention = (policy: string | undefined, path: string): FieldError[] =>
  policy === undefined || policy === 'Retain' || policy === 'Delete' ? [] : [notSupportedOf(path, policy, ['Retain', 'Delete'])];

function validateStrategy(chosen: Infer<typeof updateStrategy>, path: string): FieldError[] {
  const { type, rollingUpdate: bounds } = chosen;
  switch (type) {
    case 'OnDelete':
      return bounds ? [shownAsGo(invalid(`${path}.rollingUpdate`, bounds, "only allowed for updateStrategy 'RollingUpdate'"), rollingUpdate, forms)] : [];
    case 'RollingUpdate':
      return validateUnavailable(bounds?.maxUnavailable, `${path}.rollingUpdate.maxUnavailable`);
    default:
      return [shownAsGo(invalid(path, chosen, "must be 'RollingUpdate' or 'OnDelete'"), updateStrategy)];
  }
}

const validateUnavailable = (value: number | string | undefined, path: string): FieldError[] =>
  value === undefined ? [] : [...validateIntOrPercent(value, path), ...(amountOf(value) === 0 ? [invalidAmount(path, value, 'cannot be 0')] : []), ...validateAtMostAll(value, path)];

/** What an update may change, in the order of the published text. */
const changeable = ['replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds'] as const;
const listed = `${changeable
  .slice(0, -1)
  .map((name) => `'${name}'`)
  .join(', ')} and '${changeable.at(-1)}'`;

function validateKept(object: ApiObject, old: ApiObject): FieldError[] {
  const kept = (each: ApiObject) => Object.fromEntries(Object.entries(specOf(each)).filter(([name]) => !changeable.some((field) => field === name)));
  return equalValues(kept(object), kept(old)) ? [] : [forbidden('spec', `updates to statefulset spec for fields other than ${listed} are forbidden`)];
}

const parts = [
  ['readyReplicas', 'replicas', 'status.replicas'],
  ['currentReplicas', 'replicas', 'status.replicas'],
  ['updatedReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'readyReplicas', 'status.readyReplicas'],
] as const;

const ready = (object: ApiObject): string => `${typed(schema, object).status?.readyReplicas ?? 0}/${specOf(object).replicas ?? 0}`;

export const statefulSet = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('apps'),
    kind: 'StatefulSet',
    shortNames: ['sts'],
    categories: ['all'],
    schema,
    nameFormat: 'dnsLabel',
    columns: [nameColumn, column('Ready', 'Pods that are ready, of those that are wanted.', ready), ageColumn, ...containerColumns(templateOf, wide)],
    strategy: {
      default: fillDefaults,
      prepareForCreate: clearStatus(schema),
      validateCreate: validate,
      validateUpdate: (object, old, context) => [...validate(object, context), ...validateKept(object, old)],
      warnings: (object, old) => [...(old && equalValues(object['spec'], old['spec']) ? [] : templateWarnings(templateOf(object), 'spec.template', dialect)), ...claimWarnings(object, old)],
    },
    subresources: [
      statusView((object, old) => [...validateCountParts(object, parts), ...validateCollisionCount(object, old)]),
      replicasScale('labelSelector', { patchedName: { group: 'apps', resource: 'statefulsets/scale' } }),
    ],
    generation: true,
  });
