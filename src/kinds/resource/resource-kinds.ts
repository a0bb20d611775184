import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { boundedCount, errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { goText } from '../../schema/go-text.ts';
import { isRecord } from '../../schema/own-property.ts';
import { type Infer, type StructSchema, schemaOf } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { GroupVersionKind, Kind } from '../kind.ts';
import { validateTemplateMetadata } from '../meta/embedded-metadata-validation.ts';
import { clearStatus, keepMetadata, keepSpec } from '../meta/status-view.ts';
import { apiVersionOf, renamedFields } from '../stored-as.ts';
import { typed } from '../typed.ts';
import { allErrors, type Validation } from '../validation.ts';
import { dropDeallocated, validateClaimStatus } from './claim-status-errors.ts';
import { claimExpressions, expressionsOf, validateConfiguration, validateDeviceClaim, validateExpressions, validateSelectors } from './device-errors.ts';
import { alphaSchemas, betaSchemas } from './device-schemas.ts';
import { validateSlice } from './resource-slice-errors.ts';

type ClaimSpec = NonNullable<Infer<typeof betaSchemas.resourceClaim>['spec']>;

function fillClaim({ devices: { requests = [] } = {} }: ClaimSpec): void {
  for (const request of requests) {
    request.allocationMode ||= 'ExactCount';
    if (request.allocationMode === 'ExactCount' && !request.count) request.count = 1;
  }
}

const claimOf = (object: ApiObject): ClaimSpec => typed(betaSchemas.resourceClaim, object).spec ?? {};
const templateOf = (object: ApiObject) => typed(betaSchemas.resourceClaimTemplate, object).spec ?? {};
const classOf = (object: ApiObject) => typed(betaSchemas.deviceClass, object).spec ?? {};

/** A spec that never changes; what was stored compiles. */
const fixedSpec =
  ({ fields }: StructSchema) =>
  (object: ApiObject, old: ApiObject): FieldError[] =>
    fields['spec'] === undefined || equalValues(object['spec'], old['spec'])
      ? []
      : [{ ...invalid('spec', object['spec'] ?? {}, 'field is immutable'), shown: goText(schemaOf(fields['spec']), object['spec']) }];

const validateClaim = (object: ApiObject): FieldError[] => validateDeviceClaim(claimOf(object).devices ?? {}, 'spec.devices');

function validateTemplate(object: ApiObject): FieldError[] {
  const { metadata = {}, spec = {} } = templateOf(object);
  return [...validateTemplateMetadata(metadata, 'spec.metadata'), ...validateDeviceClaim(spec.devices ?? {}, 'spec.spec.devices')];
}

/** What stays as it was is not looked at again where it was stored before there were limits. */
function validateClass(object: ApiObject, old?: ApiObject): Validation {
  const { selectors = [], config = [] } = classOf(object);
  const before = old && classOf(old);
  const stored = before !== undefined && equalValues(config, before.config ?? []);
  const expressions = before && equalValues(selectors, before.selectors ?? []) ? [] : expressionsOf(selectors, 'spec.selectors');
  return allErrors(
    validateSelectors(selectors, 'spec.selectors'),
    validateExpressions(expressions),
    errorsOfEach(config, (each, index) => validateConfiguration(each, `spec.config[${index}]`, stored)),
    boundedCount('spec.config', config.length, limits.deviceListMax),
  );
}

function claimState(object: ApiObject): string {
  const { allocation, reservedFor = [] } = typed(betaSchemas.resourceClaim, object).status ?? {};
  const deleted = object.metadata.deletionTimestamp !== undefined;
  const states = allocation ? ['allocated', ...(reservedFor.length > 0 ? ['reserved'] : [])] : deleted ? [] : ['pending'];
  return [...(deleted ? ['deleted'] : []), ...states].join(',');
}

/** The kinds of dynamic resource allocation (KEP-4381), as beta and as alpha. Off by default. */
export function resourceKinds(dialect: Dialect): readonly Kind[] {
  const shared = { group: dialect.group('resource'), version: 'v1beta1', offByDefault: true } as const;
  const claim = defineKind({
    ...shared,
    kind: 'ResourceClaim',
    deleteReturnsObject: true,
    schema: betaSchemas.resourceClaim,
    columns: [nameColumn, column('State', 'Whether it was allocated, and is used.', claimState), ageColumn],
    strategy: {
      default: (object) => fillClaim(claimOf(object)),
      prepareForCreate: clearStatus(betaSchemas.resourceClaim),
      validateCreate: (object) => allErrors(validateClaim(object), validateExpressions(claimExpressions(claimOf(object).devices ?? {}, 'spec.devices'))),
      validateUpdate: (object, old) => [...validateClaim(object), ...fixedSpec(betaSchemas.resourceClaim)(object, old)],
    },
    subresources: [
      {
        ...{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'] },
        prepareForUpdate: (object, old) => {
          keepSpec(object, old);
          keepMetadata(object, old);
          dropDeallocated(object, old);
        },
        validateUpdate: validateClaimStatus,
      },
    ],
  });
  const template = defineKind({
    ...shared,
    kind: 'ResourceClaimTemplate',
    deleteReturnsObject: true,
    schema: betaSchemas.resourceClaimTemplate,
    columns: [nameColumn, ageColumn],
    strategy: {
      default: (object) => fillClaim(templateOf(object).spec ?? {}),
      validateCreate: (object) => allErrors(validateTemplate(object), validateExpressions(claimExpressions(templateOf(object).spec?.devices ?? {}, 'spec.spec.devices'))),
      validateUpdate: (object, old) => [...validateTemplate(object), ...fixedSpec(betaSchemas.resourceClaimTemplate)(object, old)],
    },
  });
  const deviceClass = defineKind({
    ...shared,
    kind: 'DeviceClass',
    deleteReturnsObject: true,
    resource: 'deviceclasses',
    scope: 'Cluster',
    schema: betaSchemas.deviceClass,
    columns: [nameColumn, ageColumn],
    strategy: { validateCreate: (object) => validateClass(object), validateUpdate: validateClass },
    generation: true,
  });
  const slice = defineKind({
    ...shared,
    kind: 'ResourceSlice',
    deleteReturnsObject: true,
    scope: 'Cluster',
    schema: betaSchemas.resourceSlice,
    selectableFields: [selectable('spec.nodeName'), selectable('spec.driver')],
    columns: [
      nameColumn,
      column('Node', 'The node that has the devices.', '.spec.nodeName'),
      column('Driver', 'Name of the driver.', '.spec.driver'),
      column('Pool', 'The pool of the devices.', '.spec.pool.name'),
      ageColumn,
    ],
    strategy: { validateCreate: (object) => validateSlice(object), validateUpdate: validateSlice },
    generation: true,
  });
  return [
    ...[claim, alphaOf(claim, alphaSchemas.resourceClaim)],
    ...[template, alphaOf(template, alphaSchemas.resourceClaimTemplate)],
    ...[deviceClass, alphaOf(deviceClass, alphaSchemas.deviceClass)],
    ...[slice, alphaSlice(slice)],
  ];
}

/** The same as alpha. */
function alphaOf(stored: Kind, schema: Kind['schema']): Kind {
  const name = { group: stored.group, version: 'v1alpha3', kind: stored.kind };
  return { ...stored, ...name, schema, storedAs: renamedFields(stored, name, {}) };
}

/** In the alpha version a capacity is its amount alone. */
function alphaSlice(stored: Kind): Kind {
  const alpha = alphaOf(stored, alphaSchemas.resourceSlice);
  const same = (text: string): string => text;
  return {
    ...alpha,
    storedAs: {
      kind: stored,
      toStored: (object) => converted(object, stored, (amount) => ({ value: amount })),
      fromStored: (object) => converted(object, alpha, (capacity) => (isRecord(capacity) ? (capacity['value'] ?? '0') : capacity)),
      storedLabel: same,
      versionPath: same,
    },
  };
}

/** A slice, or a part of one, with other capacities. */
function converted(object: ApiObject, to: GroupVersionKind, capacityOf: (value: unknown) => unknown): ApiObject {
  const { spec } = object;
  const devices = isRecord(spec) ? spec['devices'] : undefined;
  const result = { ...object, kind: to.kind, apiVersion: apiVersionOf(to) };
  return Array.isArray(devices) ? { ...result, spec: { ...(spec as object), devices: devices.map((device) => convertedDevice(device, capacityOf)) } } : result;
}

function convertedDevice(device: unknown, capacityOf: (value: unknown) => unknown): unknown {
  const basic = isRecord(device) ? device['basic'] : undefined;
  const capacity = isRecord(basic) ? basic['capacity'] : undefined;
  if (!isRecord(capacity)) return device;
  const all = Object.entries(capacity).map(([name, value]) => [name, capacityOf(value)]);
  return { ...(device as object), basic: { ...(basic as object), capacity: Object.fromEntries(all) } };
}
