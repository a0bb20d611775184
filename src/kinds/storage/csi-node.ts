import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { goText } from '../../schema/go-text.ts';
import { always, type Infer, int32, list, mergeList, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import { validateDriverName } from '../core/driver-name.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const volumeNodeResources = struct('api.storage.v1.VolumeNodeResources', 'What of a driver a node can use.', {
  count: ptr(1, int32(), 'Most volumes of the driver that the node can use at a time; any number where it is left out.'),
});

const csiNodeDriver = struct('api.storage.v1.CSINodeDriver', 'A driver on a node.', {
  name: always(1, string(), 'Name of the driver.'),
  nodeID: always(2, string(), 'What the driver calls the node.'),
  topologyKeys: always(3, list(string()), 'Labels of nodes that the driver knows.'),
  allocatable: ptr(4, volumeNodeResources, 'What of the driver the node can use.'),
});

const csiNodeSpec = struct('api.storage.v1.CSINodeSpec', 'The drivers on a node.', {
  drivers: always(1, mergeList('name', csiNodeDriver), 'The drivers.', { documented: 'required' }),
});

const schema = kindSchema('api.storage.v1.CSINode', 'The drivers of the container storage interface on the node of the same name.', {
  spec: always(2, csiNodeSpec, 'The drivers.', { documented: 'required' }),
});

type Driver = Infer<typeof csiNodeDriver>;

const driversOf = (object: ApiObject): readonly Driver[] => typed(schema, object).spec?.drivers ?? [];

const nodeIdBytesMax = 256;

/** The schema refuses two drivers of one name. */
const validate = (object: ApiObject): FieldError[] => errorsOfEach(driversOf(object), (driver, index) => validateDriver(driver, `spec.drivers[${index}]`));

function validateDriver({ name = '', nodeID = '', topologyKeys, allocatable }: Driver, path: string): FieldError[] {
  const seen = new Set<string>();
  const { count = 0 } = allocatable ?? {};
  return [
    ...validateDriverName(name, `${path}.name`),
    ...(nodeID === '' ? [required(`${path}.nodeID`)] : []),
    ...(Buffer.byteLength(nodeID) > nodeIdBytesMax ? [invalid(`${path}.nodeID`, nodeID, `must be ${nodeIdBytesMax} characters or less`)] : []),
    ...(count < 0 ? [invalid(`${path}.allocatable.count`, count, 'must be greater than or equal to 0')] : []),
    // Errors of keys name the driver, as published.
    ...errorsOfEach(topologyKeys ?? [], (key) => {
      const isRepeated = seen.has(key);
      seen.add(key);
      return [...(key === '' ? [required(path)] : []), ...(isRepeated ? [duplicate(path, key)] : []), ...failing(isQualifiedName, path, key)];
    }),
  ];
}

/** Drivers come and go as a whole. */
function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const before = new Map(driversOf(old).map((driver) => [driver.name, driver]));
  return [
    ...validate(object),
    ...errorsOfEach(driversOf(object), (driver) => {
      const same = before.get(driver.name);
      return same === undefined || equalValues(driver, same) ? [] : [{ ...invalid('CSINodeDriver', driver, 'field is immutable'), shown: goText(csiNodeDriver, driver) }];
    }),
  ];
}

export const csiNode = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storage'),
    kind: 'CSINode',
    scope: 'Cluster',
    schema,
    columns: [nameColumn, column('Drivers', 'Number of drivers.', countAt('.spec.drivers'), { type: 'integer' }), ageColumn],
    strategy: { validateCreate: validate, validateUpdate },
    deleteReturnsObject: true,
    unconditionalUpdate: false,
  });
