import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import type { Kind } from '../kind.ts';

/** Finalizers without a domain that are valid in every kind, besides the dialect's own name. */
const standardNames: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion']);

const isStandard = (name: string, dialect: Dialect): boolean => standardNames.has(name) || name === dialect.name;

/** Requires each finalizer to be a qualified name with a domain, or a standard name. */
export const validateFinalizerNames = (
  names: readonly string[],
  dialect: Dialect,
  fieldOf: (index: number) => string,
): FieldError[] =>
  errorsOfEach(names, (name, index) => [
    ...isQualifiedName(name).map((problem) => invalid(fieldOf(index), name, problem)),
    ...validateDomain(name, dialect, fieldOf(index)),
  ]);

const validateDomain = (name: string, dialect: Dialect, field: string): FieldError[] =>
  name.includes('/') || isStandard(name, dialect)
    ? []
    : [invalid(field, name, 'name is neither a standard finalizer name nor is it fully qualified')];

/** Warnings of the finalizers that a write adds, for kinds that have them. */
export function finalizerWarnings(
  { finalizersWithoutDomain }: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): readonly string[] {
  const { finalizers } = object.metadata;
  if (finalizersWithoutDomain !== 'warned' || finalizers === undefined) return [];
  const added = new Set(finalizers).difference(new Set(old?.metadata.finalizers));
  return [...added]
    .filter((name) => !name.includes('/') && !standardNames.has(name))
    .sort()
    .map((name) => `metadata.finalizers: ${JSON.stringify(name)}: ${preferDomain}`);
}

const preferDomain =
  'prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers';

/** Errors of finalizers in metadata, for kinds whose finalizers must have a domain. */
export const validateFinalizerDomains = (
  { finalizersWithoutDomain }: Kind,
  { metadata }: ApiObject,
  dialect: Dialect,
): FieldError[] =>
  finalizersWithoutDomain !== 'refused' || metadata.finalizers === undefined
    ? []
    : errorsOfEach(metadata.finalizers, (name, index) =>
        validateDomain(name, dialect, `metadata.finalizers[${index}]`),
      );
