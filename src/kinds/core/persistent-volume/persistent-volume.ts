import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, toldAfter } from '../../../meta/field-error.ts';
import { formatTime } from '../../../meta/time.ts';
import { cloneJson } from '../../../patch/json-value.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import { always, documentedEnum, type Infer, opt, ptr, string, struct, time } from '../../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../../columns.ts';
import { defineKind } from '../../define-kind.ts';
import type { Column, Kind, StrategyContext } from '../../kind.ts';
import { kindSchema } from '../../meta/kind-schema.ts';
import { typed } from '../../typed.ts';
import { shownModes } from '../access-modes.ts';
import { agingSources, nodeTermWarnings, shownAs } from '../pod/pod-warnings.ts';
import { roundUpAmounts } from '../resource-amounts.ts';
import { storageClassAnnotation, storageClassNameOf } from '../storage-class-name.ts';
import { type PersistentVolumeSpec, persistentVolumeSpec, type SourceName, sourceNames } from './persistent-volume-spec.ts';
import { validateVolumeSpec } from './spec-validation.ts';

const persistentVolumeStatus = struct('api.core.v1.PersistentVolumeStatus', 'What is known of a volume.', {
  phase: opt(1, documentedEnum('Available', 'Bound', 'Failed', 'Pending', 'Released'), 'Whether the volume is `Pending`, `Available`, `Bound` to a claim, `Released` or `Failed`.'),
  message: opt(2, string(), 'Why the volume is in this phase, for people.'),
  reason: opt(3, string(), 'Why the volume failed, in one word.'),
  lastPhaseTransitionTime: ptr(4, time(), 'When the phase changed.'),
});

const schema = kindSchema('api.core.v1.PersistentVolume', 'A volume that claims can be bound to, whatever its driver.', {
  spec: always(2, persistentVolumeSpec, 'Where the volume is, how large it is, and how it is used.'),
  status: always(3, persistentVolumeStatus, 'What is known of the volume.'),
});

type Status = Infer<typeof persistentVolumeStatus>;

const specOf = (object: ApiObject): PersistentVolumeSpec => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

/** A spec that is part of something else has none of these defaults. */
function setDefaults(object: ApiObject): void {
  const { spec = {}, status = {} } = typed(schema, object);
  roundUpAmounts(spec.capacity);
  spec.persistentVolumeReclaimPolicy ||= 'Retain';
  spec.volumeMode ??= 'Filesystem';
  status.phase ||= 'Pending';
  Object.assign(object, { spec, status });
}

function prepareForCreate(object: ApiObject, { now }: StrategyContext): void {
  object['status'] = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) };
}

/** Whoever changes the phase need not say when. */
function prepareStatus(object: ApiObject, old: ApiObject, { now }: StrategyContext): void {
  object['spec'] = cloneJson(old['spec']);
  const [status, before] = [statusOf(object), statusOf(old)];
  const { lastPhaseTransitionTime: at = before.lastPhaseTransitionTime } = status;
  const isNow = status.phase !== before.phase && at === before.lastPhaseTransitionTime;
  const changed = isNow ? formatTime(now) : at;
  if (changed !== undefined) status.lastPhaseTransitionTime = changed;
}

/** Where the volume is. A secret for making it larger may be added. */
function sourceOf(spec: PersistentVolumeSpec, before: PersistentVolumeSpec): unknown {
  const source = Object.fromEntries(sourceNames.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));
  const { csi } = spec;
  if (!csi || !before.csi || before.csi.controllerExpandSecretRef) return source;
  const { controllerExpandSecretRef: _added, ...rest } = csi;
  return { ...source, csi: rest };
}

const mountOptionsAnnotation = (dialect: Dialect): string => `volume.beta.${dialect.domain}/mount-options`;

/** Sources that may have mount options by annotation. The field takes them for any. */
const mountedByAnnotation: readonly SourceName[] = [
  ...(['nfs', 'iscsi', 'rbd', 'cephfs', 'glusterfs', 'quobyte', 'azureFile', 'azureDisk', 'awsElasticBlockStore'] as const),
  ...(['gcePersistentDisk', 'cinder', 'vsphereVolume', 'photonPersistentDisk'] as const),
];

function validateVolume(object: ApiObject, dialect: Dialect): FieldError[] {
  const spec = specOf(object);
  const errors = validateVolumeSpec(spec, 'spec');
  const annotation = mountOptionsAnnotation(dialect);
  const isGiven = Object.hasOwn(object.metadata.annotations ?? {}, annotation);
  if (!isGiven || mountedByAnnotation.some((source) => spec[source] !== undefined)) return errors;
  const refused = forbidden(`metadata.annotations.${annotation}`, 'may not specify mount options for this volume type');
  return [...errors, ...toldAfter('spec', [{ ...refused, mayStay: true }])];
}

function validateUpdate(object: ApiObject, old: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const [spec, before] = [specOf(object), specOf(old)];
  const errors = validateVolume(object, dialect);
  // The published paths of these fields are other ones than their own.
  if (!equalValues(sourceOf(spec, before), sourceOf(before, before))) errors.push(forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'));
  if (spec.volumeMode !== before.volumeMode) errors.push(invalid('volumeMode', spec.volumeMode ?? null, 'field is immutable'));
  if (before.nodeAffinity && !equalValues(spec.nodeAffinity, before.nodeAffinity)) errors.push(invalid('nodeAffinity', spec.nodeAffinity ?? null, 'field is immutable'));
  return errors;
}

/** Of the sources that are on their way out, those that are told of volumes. */
const agedSources = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'] as const;

function warnings(object: ApiObject, dialect: Dialect): string[] {
  const { persistentVolumeReclaimPolicy, nodeAffinity } = specOf(object);
  const aged = {
    [storageClassAnnotation(dialect)]: 'deprecated since v1.8; use "storageClassName" attribute instead',
    [mountOptionsAnnotation(dialect)]: 'deprecated since v1.31; use "mountOptions" attribute instead',
  };
  const terms = nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return [
    ...Object.entries(aged).flatMap(([key, text]) => (Object.hasOwn(object.metadata.annotations ?? {}, key) ? [`metadata.annotations[${key}]: ${text}`] : [])),
    ...(persistentVolumeReclaimPolicy === 'Recycle'
      ? ['spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.']
      : []),
    ...terms.flatMap((term, index) => nodeTermWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`, dialect)),
    ...agedSources.flatMap((source) => (specOf(object)[source] ? [`spec.${shownAs[source] ?? source}: ${agingSources[source]}`] : [])),
  ];
}

function shownClaim(object: ApiObject): string {
  const { claimRef } = specOf(object);
  return claimRef ? `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` : '';
}

const unset = '<unset>';

const columns = (dialect: Dialect): Column[] => [
  nameColumn,
  column('Capacity', 'How large the volume is.', '.spec.capacity.storage', { absent: '0' }),
  column('Access Modes', 'Ways in which the volume can be mounted.', (object) => shownModes(specOf(object).accessModes)),
  column('Reclaim Policy', 'What becomes of the volume after its claim.', '.spec.persistentVolumeReclaimPolicy'),
  column('Status', 'The phase of the volume.', (object) => (object.metadata.deletionTimestamp === undefined ? (statusOf(object).phase ?? '') : 'Terminating')),
  column('Claim', 'The claim that the volume is bound to.', shownClaim),
  column('StorageClass', 'Storage class of the volume.', (object) => storageClassNameOf(object, dialect) ?? ''),
  column('VolumeAttributesClass', 'Volume attributes class of the volume.', '.spec.volumeAttributesClassName', { absent: unset }),
  column('Reason', 'Why the volume failed.', '.status.reason'),
  ageColumn,
  column('VolumeMode', 'Whether the volume is a file system or a block device.', '.spec.volumeMode', { ...wide, absent: unset }),
];

export const persistentVolume = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'PersistentVolume',
    shortNames: ['pv'],
    scope: 'Cluster',
    schema,
    columns: columns(dialect),
    strategy: {
      default: setDefaults,
      prepareForCreate,
      validateCreate: (object) => validateVolume(object, dialect),
      validateUpdate,
      warnings: (object) => warnings(object, dialect),
    },
    deleteReturnsObject: true,
    subresources: [{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'], prepareForUpdate: prepareStatus }],
  });
