import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, required } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, map, opt, string } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { renamedFields } from '../stored-as.ts';
import { typed } from '../typed.ts';
import { validateClassDriver, validateParameters } from './class-parameters.ts';

const schemaOf = (version: string) =>
  kindSchema(`api.storage.${version}.VolumeAttributesClass`, 'Attributes that volumes can be given after they were made.', {
    driverName: always(2, string(), 'Name of the driver of the volumes.'),
    parameters: opt(3, map(string()), 'What the driver is told of the attributes.'),
  });

const schema = schemaOf('v1beta1');

function validate(object: ApiObject): FieldError[] {
  const { driverName = '', parameters = {} } = typed(schema, object);
  return [
    ...validateClassDriver(driverName, 'driverName'),
    ...validateParameters(parameters, 'parameters'),
    ...(Object.keys(parameters).length === 0 ? [required('parameters', 'must contain at least one key/value pair')] : []),
  ];
}

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const changed = ['driverName', 'parameters'].filter((field) => !equalValues(object[field] ?? {}, old[field] ?? {}));
  return [...validate(object), ...changed.map((field) => forbidden(field, `updates to ${field} are forbidden.`))];
}

/** VolumeAttributesClass (KEP-3751). Beta and alpha, and so off by default. */
export function volumeAttributesClass(dialect: Dialect): Kind[] {
  const beta = defineKind({
    group: dialect.group('storage'),
    version: 'v1beta1',
    kind: 'VolumeAttributesClass',
    resource: 'volumeattributesclasses',
    shortNames: ['vac'],
    scope: 'Cluster',
    schema,
    offByDefault: true,
    deleteReturnsObject: true,
    columns: [nameColumn, column('DriverName', 'Name of the driver of the volumes.', '.driverName'), ageColumn],
    strategy: { validateCreate: validate, validateUpdate },
  });
  const alpha = { group: beta.group, version: 'v1alpha1', kind: beta.kind };
  return [beta, { ...beta, ...alpha, schema: schemaOf('v1alpha1'), deprecated: { release: '1.32', removedRelease: '1.35', namesNoOther: true }, storedAs: renamedFields(beta, alpha, {}) }];
}
