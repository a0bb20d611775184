import { allAtOnce, type Steps } from '../../base/time/in-slices.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { describeFieldError, type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { isIntOrString } from './constraint-of.ts';
import {
  additionalOf,
  asSchema,
  hasSchemas,
  isTrue,
  type JsonSchema,
  memberOf,
  namedSchemaIn,
  namedSchemasIn,
  schemaIn,
  schemasIn,
  textOf,
} from './json-schema.ts';
import { junctors, partsOf } from './parts-of.ts';
import { unsupportedIn } from './schema-errors.ts';

/**
 * Why a schema is not structural; empty if it is. For the condition `NonStructuralSchema` of definitions that were stored
 * before they had to be, and part of the errors of new ones. Messages and order are those of kube-apiserver 1.32. Does not
 * look at patterns: see `pattern-errors.ts`.
 */
export const structuralProblems = (schema: unknown, path: string): readonly FieldError[] =>
  allAtOnce(structuralProblemsInSteps(schema, path));

/** The same, with a pause now and then for whoever iterates. */
export function* structuralProblemsInSteps(schema: unknown, path: string): Steps<readonly FieldError[]> {
  const root = asSchema(schema);
  const errors = new BoundedErrors();
  yield* checkInvariants(root, { level: 'root', path }, errors);
  checkComplete(root, root, { path, from: path }, errors);
  return errors.list.toSorted((a, b) => (textOfError(a) < textOfError(b) ? -1 : 1));
}

const textOfError = (error: FieldError): string => `${error.field}: ${describeFieldError(error)}`;

/** True if a schema has keywords for which there is no structural form, at any depth; those errors are reported alone. */
export function isUnsupported(schema: JsonSchema): boolean {
  if (unsupportedIn(schema).length > 0 || schemasIn(schema, 'items').length > 0) return true;
  return partsOf(schema).some(([, part]) => isUnsupported(part));
}

interface Place {
  readonly level: 'root' | 'item' | 'field';
  readonly path: string;
}

const placeNames = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' };

/** Fields that are checked between two pauses. */
const fieldsPerStep = 64;

function* checkInvariants(schema: JsonSchema, place: Place, errors: BoundedErrors): Steps<void> {
  if (errors.full) return;
  const { level, path } = place;
  const items = schemaIn(schema, 'items');
  if (textOf(schema, 'type') === 'array' && !items) errors.add(required(`${path}.items`, 'must be specified'));
  if (items) yield* checkInvariants(items, { level: 'item', path: `${path}.items` }, errors);
  for (const [index, [name, each]] of namedSchemasIn(schema, 'properties').entries()) {
    yield* checkInvariants(each, { level: 'field', path: `${path}.properties[${name}]` }, errors);
    if (index % fieldsPerStep === 0) yield;
  }
  const additional = additionalOf(schema);
  if (additional !== undefined && level === 'root') {
    errors.add(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  }
  if (typeof additional === 'object') {
    yield* checkInvariants(additional, { level: 'field', path: `${path}.additionalProperties` }, errors);
  }
  checkExtensions(schema, path, errors);
  checkValidation(schema, path, hasIntOrString(schema), errors);
  checkType(schema, place, errors);
  checkMeta(schema, place, errors);
}

function checkExtensions(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const { intOrString, preserveUnknownFields, embeddedResource } = schemaExtensions;
  if (!isTrue(schema, intOrString)) return;
  for (const name of [preserveUnknownFields, embeddedResource]) {
    if (isTrue(schema, name)) errors.add(invalid(`${path}.${name}`, true, `must be false if ${intOrString} is true`));
  }
}

/** The alternatives that may name types: `anyOf` of an integer or string, or the same in the first of `allOf`. */
const hasIntOrString = (schema: JsonSchema): { readonly any: boolean; readonly all: boolean } => ({
  any: isIntOrString(schemasIn(schema, 'anyOf')),
  all: isIntOrString(schemasIn(asSchema(schemasIn(schema, 'allOf')[0]), 'anyOf')),
});

function checkValidation(
  schema: JsonSchema,
  path: string,
  skipped: { readonly any: boolean; readonly all: boolean },
  errors: BoundedErrors,
): void {
  if (errors.full) return;
  for (const junctor of junctors) {
    if (junctor === 'anyOf' && skipped.any) continue;
    for (const [index, each] of schemasIn(schema, junctor).entries()) {
      const skip = { any: junctor === 'allOf' && index === 0 && skipped.all, all: false };
      checkNested(each, `${path}.${junctor}[${index}]`, skip, errors);
    }
  }
  const not = schemaIn(schema, 'not');
  if (not) checkNested(not, `${path}.not`, nothingSkipped, errors);
}

const nothingSkipped = { any: false, all: false };

/** Members that a schema within a junctor must not have, with what is said of them. */
const onlyOutside: readonly (readonly [name: string, detail: string, isThere: (value: unknown) => boolean])[] = [
  ['type', 'must be empty', (value) => value !== ''],
  ['additionalProperties', 'must be undefined', (value) => value !== false],
  ['default', 'must be undefined', () => true],
  ['title', 'must be empty', (value) => value !== ''],
  ['description', 'must be empty', (value) => value !== ''],
  ['nullable', 'must be false', (value) => value === true],
  [schemaExtensions.preserveUnknownFields, 'must be false', (value) => value === true],
  [schemaExtensions.embeddedResource, 'must be false', (value) => value === true],
  [schemaExtensions.intOrString, 'must be false', (value) => value === true],
  [schemaExtensions.listMapKeys, 'must be empty', (value) => Array.isArray(value) && value.length > 0],
  [schemaExtensions.listType, 'must be undefined', () => true],
  [schemaExtensions.mapType, 'must be undefined', () => true],
  [schemaExtensions.validations, 'must be empty', (value) => Array.isArray(value) && value.length > 0],
];

/** A schema in `allOf`, `anyOf`, `oneOf` or `not`, or within one: it may only restrict values. */
function checkNested(
  schema: JsonSchema,
  path: string,
  skipped: { readonly any: boolean; readonly all: boolean },
  errors: BoundedErrors,
): void {
  checkValidation(schema, path, skipped, errors);
  const items = schemaIn(schema, 'items');
  if (items) checkNested(items, `${path}.items`, nothingSkipped, errors);
  for (const [name, each] of namedSchemasIn(schema, 'properties')) {
    checkNested(each, `${path}.properties[${name}]`, nothingSkipped, errors);
  }
  for (const [name, detail, isThere] of onlyOutside) {
    const value = memberOf(schema, name);
    if (value !== undefined && isThere(value)) errors.add(forbidden(`${path}.${name}`, `${detail} to be structural`));
  }
  if (namedSchemaIn(schema, 'properties', 'metadata')) {
    errors.add(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  }
}

function checkType(schema: JsonSchema, { level, path }: Place, errors: BoundedErrors): void {
  const { intOrString, preserveUnknownFields, embeddedResource } = schemaExtensions;
  const type = textOf(schema, 'type');
  if (isTrue(schema, embeddedResource) && type !== 'object') {
    const detail = `must be object if ${embeddedResource} is true`;
    errors.add(type === undefined ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail));
  } else if (type === undefined && !isTrue(schema, intOrString) && !isTrue(schema, preserveUnknownFields)) {
    errors.add(required(`${path}.type`, `must not be empty ${placeNames[level]}`));
  }
  if (level === 'root' && type !== undefined && type !== 'object') {
    errors.add(invalid(`${path}.type`, type, 'must be object at the root'));
  }
}

/** What says of itself that it is an object: its apiVersion, kind and metadata are given. */
function checkMeta(schema: JsonSchema, { level, path }: Place, errors: BoundedErrors): void {
  const { embeddedResource, preserveUnknownFields } = schemaExtensions;
  const embedded = isTrue(schema, embeddedResource);
  if (embedded && additionalOf(schema) !== undefined) {
    errors.add(forbidden(`${path}.additionalProperties`, `must not be used if ${embeddedResource} is set`));
  }
  if (level === 'root' || embedded) {
    for (const [name, needed] of metaTypes) {
      const field = namedSchemaIn(schema, 'properties', name);
      const type = field && (textOf(field, 'type') ?? '');
      const at = `${path}.properties[${name}].type`;
      if (type !== undefined && type !== needed) errors.add(invalid(at, type, `must be ${needed}`));
    }
  }
  const metadata = namedSchemaIn(schema, 'properties', 'metadata');
  if (metadata && level === 'root' && !restrictsNamesOnly(metadata)) {
    errors.add(
      forbidden(
        `${path}.properties[metadata]`,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  }
  if (embedded && !isTrue(schema, preserveUnknownFields) && !hasSchemas(schema, 'properties')) {
    const detail = `must not be empty if ${embeddedResource} is true without ${preserveUnknownFields}`;
    errors.add(required(`${path}.properties`, detail));
  }
}

const metaTypes = [
  ['kind', 'string'],
  ['apiVersion', 'string'],
  ['metadata', 'object'],
] as const;

/** Members of a schema that say nothing of values, or are checked elsewhere. */
const neutral: ReadonlySet<string> = new Set(['type', 'default', 'properties', 'externalDocs', 'example']);
const names: ReadonlySet<string> = new Set(['name', 'generateName']);

function restrictsNamesOnly(metadata: JsonSchema): boolean {
  const others = Object.keys(metadata).filter((name) => !neutral.has(name) && !isZero(memberOf(metadata, name)));
  return others.length === 0 && namedSchemasIn(metadata, 'properties').every(([name]) => names.has(name));
}

const isZero = (value: unknown): boolean =>
  value === undefined || value === '' || value === false || (Array.isArray(value) && value.length === 0);

/** Where a value validation stands, and where the structure that it needs should. */
interface Counterpart {
  readonly path: string;
  readonly from: string;
}

/**
 * All that value validations of the root speak of must be specified outside of them. As in kube-apiserver, those of fields
 * are not looked at: a field that is specified nowhere is pruned before they see it.
 */
function checkComplete(
  validation: JsonSchema,
  structure: JsonSchema | undefined,
  at: Counterpart,
  errors: BoundedErrors,
): void {
  if (errors.full) return;
  const not = schemaIn(validation, 'not');
  if (not) checkNestedComplete(not, structure, { ...at, from: `${at.from}.not` }, errors);
  for (const junctor of junctors) {
    for (const [index, each] of schemasIn(validation, junctor).entries()) {
      checkNestedComplete(each, structure, { ...at, from: `${at.from}.${junctor}[${index}]` }, errors);
    }
  }
}

function checkNestedComplete(
  validation: JsonSchema,
  structure: JsonSchema | undefined,
  at: Counterpart,
  errors: BoundedErrors,
): void {
  if (!structure) {
    errors.add(required(at.path, `because it is defined in ${at.from}`));
    return;
  }
  checkComplete(validation, structure, at, errors);
  const items = schemaIn(validation, 'items');
  const below = (step: string): Counterpart => ({ path: `${at.path}${step}`, from: `${at.from}${step}` });
  if (items) checkNestedComplete(items, schemaIn(structure, 'items'), below('.items'), errors);
  for (const [name, each] of namedSchemasIn(validation, 'properties')) {
    const field = namedSchemaIn(structure, 'properties', name);
    checkNestedComplete(each, field, below(`.properties[${name}]`), errors);
  }
}
