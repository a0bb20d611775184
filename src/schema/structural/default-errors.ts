import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { describeFieldError, type FieldError, invalid } from '../../meta/field-error.ts';
import { decodeValue } from '../decode.ts';
import { joinPath } from '../field-path.ts';
import { getOwn, isRecord } from '../own-property.ts';
import { type Schema, type StructSchema, schemaOf } from '../schema.ts';
import { validate } from '../validate.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { type EmbeddedObject, embeddedObjects } from './embedded-objects.ts';
import { additionalOf, isTrue, type JsonSchema, memberOf, namedSchemasIn, schemaIn } from './json-schema.ts';

/** What default values of metadata are checked by. */
interface MetadataRules {
  readonly objectMeta: StructSchema;
  /** Errors of the decoded metadata of an embedded object. Paths start with `metadata`. */
  readonly validateMetadata: (metadata: unknown) => readonly FieldError[];
}

/** A schema, as sent and as built. */
interface Place {
  readonly json: JsonSchema;
  readonly schema: Schema;
  readonly path: string;
  /** The steps from the embedded object, if the schema is of its apiVersion, kind or metadata. */
  readonly meta?: readonly (string | number)[];
}

/**
 * Defaults that their own schema refuses, or that have unknown fields. kube-apiserver does not look at those within
 * `additionalProperties`; here all are checked, since nobody could write an object that has a wrong one.
 */
export function defaultErrors(place: Place, rules: MetadataRules): readonly FieldError[] {
  const errors = new BoundedErrors();
  for (const { schema, initial, at, meta } of defaultsIn({ ...place, schema: asEmbedded(place.schema) })) {
    if (errors.full) break;
    const problem = meta ? metadataProblem(meta, initial, rules) : unknownProblem(schema, initial);
    if (problem !== undefined) errors.add({ ...invalid(at, initial, problem), asGo: true });
    else errors.add(...valueErrors(schema, initial, rules).map((error) => placed(at, error)));
  }
  return errors.list;
}

/** As in kube-apiserver, a default of the root is a whole object: it says what it is. */
const asEmbedded = (schema: Schema): Schema => (schema.type === 'struct' ? { ...schema, embedded: true } : schema);

/** The paths within messages are those within the default, as in kube-apiserver. */
function valueErrors(schema: Schema, initial: unknown, rules: MetadataRules): readonly FieldError[] {
  const mismatches = [...embeddedObjects(schema, initial)].flatMap((each) => identityMismatches(each, rules));
  return mismatches.length > 0 ? mismatches : validate(schema, initial, '', { whole: '' });
}

/** What cannot be read in an object of a default: nobody else looks at the types of these fields. */
function identityMismatches({ path, object }: EmbeddedObject, { objectMeta }: MetadataRules): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const name of ['apiVersion', 'kind']) {
    const value = getOwn(object, name);
    if (value === undefined || typeof value === 'string') continue;
    errors.push(invalid(joinPath(path, name), value, 'must be a string'));
  }
  for (const mismatch of decodeValue(objectMeta, object['metadata'] ?? {}).errors) {
    const detail = `expected ${mismatch.expected}, got ${mismatch.got}`;
    errors.push(invalid(joinPath(joinPath(path, 'metadata'), mismatch.path), object['metadata'], detail));
  }
  return errors;
}

/** As in kube-apiserver, there is a dot before the index of an item. */
const placed = (at: string, error: FieldError): FieldError => ({
  ...error,
  field: error.field.startsWith('[') ? `${at}.${error.field}` : joinPath(at, error.field),
});

/** A default value of a schema, and its path. */
interface Default extends Pick<Place, 'schema' | 'meta'> {
  readonly initial: unknown;
  readonly at: string;
}

/** All defaults in a schema, the outermost first. */
export function* defaultsIn(place: Place): Generator<Default, void> {
  const { json, schema, path, meta } = place;
  const initial = memberOf(json, 'default');
  if (initial !== undefined) yield { schema, initial, at: `${path}.default`, ...(meta && { meta }) };
  for (const part of partsOf(place)) yield* defaultsIn(part);
}

/** Unknown fields of metadata are allowed, and pruned. */
const unknownProblem = (schema: Schema, initial: unknown): string | undefined =>
  hasUnknown(schema, initial, decodeValue(schema, initial).value) ? 'must not have unknown fields' : undefined;

/** True if decoding has pruned something of what was sent, other than null and fields of metadata. */
function hasUnknown(schema: Schema | undefined, sent: unknown, kept: unknown): boolean {
  if (Array.isArray(sent)) {
    const items = schema && itemsOf(schema);
    return Array.isArray(kept) && sent.some((each, index) => hasUnknown(items, each, kept[index]));
  }
  if (!isRecord(sent) || !isRecord(kept)) return false;
  const isEmbedded = schema?.type === 'struct' && schema.embedded;
  return Object.keys(sent).some((name) => {
    if ((isEmbedded && name === 'metadata') || sent[name] === null) return false;
    const part = schema && (fieldOf(schema, name) ?? valuesOf(schema));
    return !Object.hasOwn(kept, name) || hasUnknown(part, sent[name], kept[name]);
  });
}

/** What is wrong with the metadata of an object that has the default. */
function metadataProblem(
  steps: readonly (string | number)[],
  initial: unknown,
  { objectMeta, validateMetadata }: MetadataRules,
): string | undefined {
  const part = steps.reduceRight((inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }), initial);
  const object = { apiVersion: 'validation/v1', kind: 'Validation', ...Object(part) };
  const schema = embeddedObject(objectMeta);
  const { value, errors } = decodeValue(schema, object);
  const mismatches = errors.map(({ path, expected, got }) => `${path}: expected ${expected}, got ${got}`);
  const invalidMetadata = mismatches.length > 0 ? [] : validateMetadata(Object(value).metadata ?? {});
  const problems = [...mismatches, ...validate(schema, value).map(describe), ...invalidMetadata.map(describe)];
  return problems.length === 0 ? undefined : `must result in valid metadata: ${problems.join(', ')}`;
}

const describe = (error: FieldError): string => `${error.field}: ${describeFieldError(error)}`;

const embeddedObject = (objectMeta: StructSchema): StructSchema => ({
  type: 'struct',
  name: '',
  structType: 'granular',
  embedded: true,
  fields: {
    apiVersion: { schema: { type: 'string' }, required: false, presence: 'explicit' },
    kind: { schema: { type: 'string' }, required: false, presence: 'explicit' },
    metadata: { schema: objectMeta, required: false, presence: 'explicit' },
  },
});

function* partsOf({ json, schema, path, meta }: Place): Generator<Place, void> {
  const items = schemaIn(json, 'items');
  const itemSchema = itemsOf(schema);
  if (items && itemSchema) yield { json: items, schema: itemSchema, path: `${path}.items`, ...below(meta, 0) };
  const additional = additionalOf(json);
  const values = valuesOf(schema);
  if (typeof additional === 'object' && values) {
    yield { json: additional, schema: values, path: `${path}.additionalProperties`, ...below(meta, '*') };
  }
  const isEmbedded = isTrue(json, schemaExtensions.embeddedResource);
  for (const [name, each] of namedSchemasIn(json, 'properties')) {
    const field = fieldOf(schema, name);
    if (!field) continue;
    const above = isEmbedded && metaFields.has(name) ? [] : meta;
    yield { json: each, schema: field, path: `${path}.properties[${name}]`, ...below(above, name) };
  }
}

const below = (meta: Place['meta'], step: string | number): Pick<Place, 'meta'> =>
  meta ? { meta: [...meta, step] } : {};

const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

const itemsOf = (schema: Schema): Schema | undefined =>
  schema.type === 'any' ? schema.list?.items : schema.type === 'list' ? schema.items : undefined;

function valuesOf(schema: Schema): Schema | undefined {
  if (schema.type === 'any') return schema.object && valuesOf(schema.object);
  if (schema.type === 'map') return schema.values;
  return schema.type === 'struct' && typeof schema.additional === 'object' ? schema.additional : undefined;
}

function fieldOf(schema: Schema, name: string): Schema | undefined {
  if (schema.type === 'any') return schema.object && fieldOf(schema.object, name);
  const field = schema.type === 'struct' && Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  return field && schemaOf(field);
}
