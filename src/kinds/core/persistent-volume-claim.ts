import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, forbidden, invalid, notSupported } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { compareQuantity, parseQuantity } from '../../meta/quantity.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Column, Kind } from '../kind.ts';
import { statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { shownModes } from './access-modes.ts';
import { nanosOf, validateClaimSpec } from './claim-spec-errors.ts';
import { type PersistentVolumeClaim, persistentVolumeClaimSchema as schema } from './persistent-volume-claim-schema.ts';
import { fractionalStorage } from './pod/pod-warnings.ts';
import { failing } from './pod/validation/field-checks.ts';
import { roundUpAmounts } from './resource-amounts.ts';
import { isNative, validateResourceAmount } from './resource-names.ts';
import { storageClassAnnotation, storageClassNameOf } from './storage-class-name.ts';

type Claim = PersistentVolumeClaim;
type Spec = NonNullable<Claim['spec']>;
type Status = NonNullable<Claim['status']>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

function setDefaults(object: ApiObject): void {
  const { spec, status } = typed(schema, object);
  for (const amounts of [spec?.resources?.limits, spec?.resources?.requests, status?.capacity, status?.allocatedResources]) roundUpAmounts(amounts);
}

/** What a claim is filled from stands in both fields: one is the former form of the other. */
function fillSources({ spec }: Claim): void {
  if (!spec) return;
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _empty, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}

/** Without the feature, a source in another namespace counts as none, unless the claim has had a source of that form. */
function dropForeignSource({ spec }: Claim, old: Claim | undefined, features: ReadonlySet<string> | undefined): void {
  if (features?.has('CrossNamespaceVolumeDataSource') || !spec?.dataSourceRef?.namespace || old?.spec?.dataSourceRef) return;
  delete spec.dataSourceRef;
}

/** Whoever fills a claim from something else than a claim or a snapshot says so in the newer field, as published (KEP-1495). */
function dropFormerSource({ spec }: Claim, old: Claim | undefined, dialect: Dialect): void {
  if (!spec?.dataSource || spec.dataSourceRef || old?.spec?.dataSource || old?.spec?.dataSourceRef) return;
  const { apiGroup = '', kind = '' } = spec.dataSource;
  const isKnown = apiGroup === '' ? kind === 'PersistentVolumeClaim' : kind === 'VolumeSnapshot' && apiGroup === dialect.group('snapshot.storage');
  if (!isKnown) delete spec.dataSource;
}

/** What of the spec may not change: all but a name and a class that were open, and the size once there is a volume. */
function frozen(spec: Spec, old: ApiObject): Spec {
  const before = specOf(old);
  const { volumeAttributesClassName: _ignored, ...rest } = cloneJson(spec);
  const result: Spec = rest;
  if (!before.volumeName) delete result.volumeName;
  if (before.storageClassName === undefined) delete result.storageClassName;
  if (statusOf(old).phase === 'Bound' && result.resources?.requests) delete result.resources.requests['storage'];
  return result;
}

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const [spec, before] = [specOf(object), specOf(old)];
  const errors = validateClaimSpec(spec, 'spec');
  if (!equalValues(frozen(spec, old), frozen(before, old))) {
    errors.push(forbidden('spec', 'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'));
  }
  const [size, former, given] = [spec.resources?.requests, before.resources?.requests, statusOf(old).capacity].map((amounts) => parseQuantity(amounts?.['storage'] ?? '0'));
  if (size && former && given && compareQuantity(size, former) < 0 && compareQuantity(size, given) <= 0) {
    errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  if (spec.volumeMode !== before.volumeMode) errors.push(invalid('volumeMode', spec.volumeMode ?? null, 'field is immutable'));
  return errors;
}

function validateStatus(object: ApiObject, domain: string): FieldError[] {
  const { allocatedResourceStatuses = {}, allocatedResources = {} } = statusOf(object);
  // Published names of these fields, of which one is not that of the field.
  const [ofStatuses, ofAmounts] = ['status.allocatedResourceStatus', 'status.allocatedResources'];
  return [
    ...validateGiven(object),
    ...errorsOfEach(Object.entries(allocatedResourceStatuses), ([name, state]) => [
      ...validateGrowing(name, ofStatuses, domain),
      ...(growth.includes(state) ? [] : [{ ...notSupported(ofStatuses, name, growth), shown: name }]),
    ]),
    ...errorsOfEach(Object.entries(allocatedResources), ([name, amount]) => {
      const errors = validateGrowing(name, ofAmounts, domain);
      if (errors.length > 0) return errors;
      const at = `${ofAmounts}[${name}]`;
      return nanosOf(amount) < 0n ? [invalidTotal(at, amount)] : validateResourceAmount('storage', amount, at, domain);
    }),
  ];
}

/** How far the growth of a volume can be. */
const growth = ['ControllerResizeInProgress', 'ControllerResizeInfeasible', 'NodeResizePending', 'NodeResizeInProgress', 'NodeResizeInfeasible'];

/** What can grow: storage, and resources of others. */
function validateGrowing(name: string, field: string, domain: string): FieldError[] {
  const problems = failing(isQualifiedName, field, name);
  return problems.length > 0 || name === 'storage' || !isNative(name, domain) ? problems : [notSupported(field, name, ['storage'])];
}

/** Shown as a whole number. */
const invalidTotal = (field: string, amount: string): FieldError => invalid(field, nanosOf(amount) / 10n ** 9n, 'must be a valid resource quantity');

const validateGiven = (object: ApiObject): FieldError[] =>
  errorsOfEach(Object.entries(statusOf(object).capacity ?? {}), ([name, amount]) => (nanosOf(amount) < 0n ? [invalidTotal(`status.capacity[${name}]`, amount)] : []));

function warnings(object: ApiObject, dialect: Dialect): readonly string[] {
  const annotation = storageClassAnnotation(dialect);
  const aged = Object.hasOwn(object.metadata.annotations ?? {}, annotation);
  return [...(aged ? [`metadata.annotations[${annotation}]: deprecated since v1.8; use "storageClassName" attribute instead`] : []), ...fractionalStorage(specOf(object).resources, 'spec')];
}

const ofVolume = (object: ApiObject, show: (status: Status) => string): string => (specOf(object).volumeName ? show(statusOf(object)) : '');
const unset = '<unset>';

const columns = (dialect: Dialect): Column[] => [
  nameColumn,
  column('Status', 'The phase of the claim.', (object) => (object.metadata.deletionTimestamp === undefined ? (statusOf(object).phase ?? '') : 'Terminating')),
  column('Volume', 'Name of the volume that the claim is bound to.', '.spec.volumeName'),
  column('Capacity', 'How large the volume is.', (object) => ofVolume(object, ({ capacity }) => capacity?.['storage'] ?? '0')),
  column('Access Modes', 'Ways in which the volume can be mounted.', (object) => ofVolume(object, (status) => shownModes(status.accessModes))),
  column('StorageClass', 'Storage class of the claim.', (object) => storageClassNameOf(object, dialect) ?? ''),
  column('VolumeAttributesClass', 'Volume attributes class of the claim.', '.spec.volumeAttributesClassName', { absent: unset }),
  ageColumn,
  column('VolumeMode', 'Whether the volume is a file system or a block device.', '.spec.volumeMode', { ...wide, absent: unset }),
];

export const persistentVolumeClaim = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'PersistentVolumeClaim',
    shortNames: ['pvc'],
    schema,
    columns: columns(dialect),
    strategy: {
      default: setDefaults,
      prepareForCreate(object, { features }) {
        object['status'] = { phase: 'Pending' };
        dropForeignSource(typed(schema, object), undefined, features);
        dropFormerSource(typed(schema, object), undefined, dialect);
        fillSources(typed(schema, object));
      },
      validateCreate: (object) => validateClaimSpec(specOf(object), 'spec'),
      prepareForUpdate: (object, old, { features }) => {
        dropForeignSource(typed(schema, object), typed(schema, old), features);
        dropFormerSource(typed(schema, object), typed(schema, old), dialect);
        fillSources(typed(schema, object));
      },
      validateUpdate,
      warnings: (object) => warnings(object, dialect),
    },
    deleteReturnsObject: true,
    subresources: [statusView((object) => validateStatus(object, dialect.domain))],
  });
