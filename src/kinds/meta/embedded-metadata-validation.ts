import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { type FieldError, forbidden } from '../../meta/field-error.ts';
import { joinPath } from '../../schema/field-path.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { embeddedObjects } from '../../schema/structural/embedded-objects.ts';
import { validateAnnotations, validateLabels, validateObjectMeta } from './metadata-validation.ts';

/**
 * Errors of the metadata of an embedded object, which need not have a name. `metadata` is decoded. Paths start with
 * `metadata`.
 */
export function validateEmbeddedMetadata(metadata: unknown): readonly FieldError[] {
  const { name = '', ...rest }: ObjectMeta = isRecord(metadata) ? metadata : {};
  // Any valid name will do: a missing one is no error.
  const object = { metadata: { ...rest, name: name === '' ? 'name' : name } } as ApiObject;
  return validateObjectMeta({ nameFormat: 'pathSegment' }, object);
}

/** Errors of the metadata of all objects embedded in a decoded object. */
export const validateEmbeddedObjects = (schema: StructSchema, object: unknown): readonly FieldError[] =>
  [...embeddedObjects(schema, object)].flatMap(({ path, object: embedded }) =>
    validateEmbeddedMetadata(embedded['metadata']).map((error) => ({ ...error, field: joinPath(path, error.field) })),
  );

/** Errors of the metadata of objects that are made from another one: labels and annotations, and nothing else. */
export function validateTemplateMetadata(metadata: Readonly<Record<string, unknown>>, path: string): FieldError[] {
  const { annotations = {}, labels = {}, ...others } = metadata as ObjectMeta;
  return [
    ...validateAnnotations(annotations, `${path}.annotations`),
    ...validateLabels(labels, `${path}.labels`),
    ...Object.entries(others).flatMap(([name, value]) =>
      value === null ? [] : [forbidden(`${path}.${name === 'uid' ? 'uID' : name}`, 'cannot be set')],
    ),
  ];
}
