import { limits } from '../../base/limits.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import {
  boundedCount,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../meta/field-error.ts';
import { formatChecks, isDnsLabel, isLabelValue, isQualifiedName, maskedPrefix } from '../../meta/formats.ts';
import { goTime } from '../../meta/go-values.ts';
import type { Kind } from '../kind.ts';
import { validateAppliers, validateManagedFields } from './managed-fields-validation.ts';
import { validateOwnerReferences } from './owner-references-validation.ts';

/**
 * Validates the metadata of an object to be stored. `generateName` must be resolved already. Does not check that a
 * namespace is present or absent: the registry sets it from the path. `old` is the object being replaced, if any; a list
 * that already exceeds its limit may stay or shrink.
 */
export function validateObjectMeta(
  kind: Pick<Kind, 'nameFormat'>,
  object: ApiObject,
  old?: ApiObject,
): readonly FieldError[] {
  const { metadata } = object;
  const path = 'metadata';
  const counts = validateCounts(metadata, old?.metadata ?? {});
  if (counts.length > 0) return counts;
  const errors = validateName(kind.nameFormat, metadata, path);
  const { namespace, generation = 0, labels, annotations, ownerReferences, finalizers, managedFields } = metadata;
  if (namespace) errors.push(...texts(`${path}.namespace`, namespace, isDnsLabel(namespace)));
  if (generation < 0) errors.push(invalid(`${path}.generation`, generation, 'must be greater than or equal to 0'));
  if (labels) errors.push(...validateLabels(labels, `${path}.labels`));
  if (annotations) errors.push(...validateAnnotations(annotations, `${path}.annotations`));
  if (ownerReferences) errors.push(...validateOwnerReferences(ownerReferences, `${path}.ownerReferences`));
  if (finalizers) errors.push(...validateFinalizers(finalizers, `${path}.finalizers`));
  if (managedFields) {
    errors.push(...validateManagedFields(managedFields, `${path}.managedFields`));
    errors.push(...validateAppliers(managedFields, old?.metadata.managedFields ?? [], `${path}.managedFields`));
  }
  return errors;
}

/** Count errors are returned alone, without errors of the single elements. */
function validateCounts({ labels, ownerReferences, finalizers }: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  const check = (name: string, count: number, countMax: number, countBefore = 0): void => {
    errors.push(...boundedCount(`metadata.${name}`, count, countMax, countBefore));
  };
  if (labels) check('labels', countOf(labels), limits.labelsMax, old.labels && countOf(old.labels));
  if (ownerReferences) {
    check('ownerReferences', ownerReferences.length, limits.ownerReferencesMax, old.ownerReferences?.length);
  }
  if (finalizers) check('finalizers', finalizers.length, limits.finalizersMax, old.finalizers?.length);
  return errors;
}

const countOf = (labels: Readonly<Record<string, string>>): number => Object.keys(labels).length;

/**
 * Validates what an update may not change, in addition to `validateObjectMeta`. The registry checks the resourceVersion.
 */
export function validateObjectMetaUpdate(object: ApiObject, old: ApiObject, path = 'metadata'): readonly FieldError[] {
  const [next, last] = [object.metadata, old.metadata];
  const errors: FieldError[] = [];
  if (last.deletionTimestamp !== undefined) errors.push(...validateNoNewFinalizers(next, last, path));
  if ((next.generation ?? 0) < (last.generation ?? 0)) {
    errors.push(invalid(`${path}.generation`, next.generation ?? 0, 'must not be decremented'));
  }
  for (const field of immutableFields) {
    const [value, before] = [next[field] ?? null, last[field] ?? null];
    if (value !== before) errors.push(immutable(`${path}.${field}`, value));
  }
  return errors;
}

const immutable = (field: string, value: string | number | null): FieldError => ({
  ...invalid(field, value, 'field is immutable'),
  ...(typeof value === 'string' && field.endsWith('Timestamp') && { shown: goTime(value) }),
});

const immutableFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const satisfies readonly (keyof ObjectMeta)[];

const texts = (field: string, value: unknown, problems: readonly string[]): FieldError[] =>
  problems.map((problem) => invalid(field, value, problem));

function validateName(format: Kind['nameFormat'], { name, generateName }: ObjectMeta, path: string): FieldError[] {
  return [
    ...(generateName ? texts(`${path}.generateName`, generateName, prefixProblems(format, generateName)) : []),
    ...(name
      ? [...texts(`${path}.name`, name, formatChecks[format](name)), ...validateLength(format, name, path)]
      : [required(`${path}.name`, 'name or generateName is required')]),
  ];
}

/** Length limit of path segment names; the other formats include one. */
const validateLength = (format: Kind['nameFormat'], name: string, path: string): FieldError[] =>
  format === 'pathSegment' && Buffer.byteLength(name) > limits.pathNameBytesMax
    ? [tooLong(`${path}.name`, limits.pathNameBytesMax)]
    : [];

/** A generateName prefix may end in a dash, and may be text that is no valid name by itself, such as `.`. */
function prefixProblems(format: Kind['nameFormat'], prefix: string): readonly string[] {
  if (format === 'pathSegment') return formatChecks[format](`${prefix}a`);
  return formatChecks[format](maskedPrefix(prefix));
}

/** Validates labels, of metadata and of other fields such as templates and selectors. */
export const validateLabels = (labels: Readonly<Record<string, string>>, field: string): FieldError[] =>
  errorsOfEach(Object.entries(labels), ([key, value]) => [
    ...texts(field, key, isQualifiedName(key)),
    ...texts(field, value, isLabelValue(value)),
  ]);

/** Unlike label keys, annotation keys may have upper-case letters in the prefix. Their total size is limited. */
export function validateAnnotations(annotations: Readonly<Record<string, string>>, field: string): FieldError[] {
  const errors = errorsOfEach(Object.keys(annotations), (key) => texts(field, key, isQualifiedName(key.toLowerCase())));
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (bytes > limits.annotationBytesMax) errors.push(tooLong(field, limits.annotationBytesMax));
  return errors;
}

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

function validateFinalizers(finalizers: readonly string[], field: string): FieldError[] {
  const errors = errorsOfEach(finalizers, (name) => texts(field, name, isQualifiedName(name)));
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    errors.push(invalid(field, finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`));
  }
  return errors;
}

function validateNoNewFinalizers(next: ObjectMeta, last: ObjectMeta, path: string): FieldError[] {
  const added = [...new Set(next.finalizers).difference(new Set(last.finalizers))].sort();
  if (added.length === 0) return [];
  const names = added.map((name) => JSON.stringify(name)).join(', ');
  const rule = 'no new finalizers can be added if the object is being deleted';
  return [forbidden(`${path}.finalizers`, `${rule}, found new finalizers []string{${names}}`)];
}
