import { describeFieldError, type FieldError, invalid } from '../../meta/field-error.ts';
import { isRecord } from '../own-property.ts';
import { always, list, map, opt, type StructSchema, string, struct, time } from '../schema.ts';
import { readStructuralSchema } from './structural-schema.ts';

/** A small ObjectMeta: the real one is of a room above. */
export const objectMeta: StructSchema = struct('apimachinery.pkg.apis.meta.v1.ObjectMeta', 'What every object has.', {
  name: opt(1, string(), 'Name.'),
  generateName: opt(2, string(), 'Prefix of the name.'),
  creationTimestamp: always(8, time(), 'When it was created.'),
  labels: opt(11, map(string()), 'Labels.'),
  annotations: opt(12, map(string()), 'Annotations.'),
  finalizers: opt(14, list(string()), 'Finalizers.'),
});

/** Labels have no spaces. */
export function validateMetadata(metadata: unknown): readonly FieldError[] {
  const labels = isRecord(metadata) && isRecord(metadata['labels']) ? metadata['labels'] : {};
  return Object.values(labels)
    .filter((value) => String(value).includes(' '))
    .map((value) => invalid('metadata.labels', value, 'has a space'));
}

export const path = 'spec.versions[0].schema.openAPIV3Schema';

/** Reads a schema that must have no errors. */
export function schemaFrom(json: unknown): StructSchema {
  const { schema, errors } = readStructuralSchema(json, { path, objectMeta, validateMetadata });
  if (!schema) throw new Error(`errors in the schema: ${errors.map(errorText).join('; ')}`);
  return schema;
}

/** A schema for `spec`, within that of an object. */
export const withSpec = (spec: unknown): unknown => ({ type: 'object', properties: { spec } });

export const errorText = (error: FieldError): string => `${error.field}: ${describeFieldError(error)}`;
