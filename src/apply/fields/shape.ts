import { LazyFields } from '../../schema/lazy-fields.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import {
  anyValue,
  type Field,
  type ListSchema,
  type Schema,
  type StructSchema,
  schemaOf,
} from '../../schema/schema.ts';
import { compareText } from '../canonical-json.ts';
import { fieldElement, keyElement, type PathElement, valueElement } from './field-path.ts';

/**
 * What field ownership needs of a schema (spec section 4.7): which values are owned whole, and how the parts of the
 * others are identified.
 */
export type Shape = LeafShape | DeducedShape | MapShape | StructShape | ListShape;

/** Owned and replaced as a whole: scalars and atomic containers. */
export interface LeafShape {
  readonly type: 'leaf';
  /** True for containers: an owner of a part, recorded before the type became atomic, owns the whole. */
  readonly atomic: boolean;
  readonly schema: Schema;
}

/** No schema: the structure follows the value. Objects are granular, lists are atomic with everything in them. */
interface DeducedShape {
  readonly type: 'deduced';
  readonly schema: Schema;
}

interface MapShape {
  readonly type: 'map';
  readonly schema: Schema;
  readonly values: Shape;
}

export interface StructShape {
  readonly type: 'struct';
  readonly schema: Schema;
  readonly fields: FieldShapes;
}

/** Fields by name, including additional fields if the struct allows them. */
interface FieldShapes {
  get(name: string): FieldShape | undefined;
}

export interface FieldShape {
  readonly element: PathElement;
  readonly shape: Shape;
  /** False for additional fields: like keys of maps, they are owned themselves, with all that is in them. */
  readonly declared: boolean;
  /** Who can own it: `below` is for metadata, of which only parts are owned; `nobody` for server-managed fields. */
  readonly owners: 'anyone' | 'below' | 'nobody';
  /** True for a value that decoding drops, so that applying it is the same as its absence. */
  readonly isAbsent: (value: unknown) => boolean;
}

/** A set, or a list whose elements have keys. May contain duplicates. */
export interface ListShape {
  readonly type: 'list';
  readonly schema: Schema;
  readonly items: Shape;
  /** Keys of `map` lists, sorted; empty for sets. */
  readonly keys: readonly ListKey[];
  /** The path element of a list element. A missing key without a default counts as null. */
  readonly elementOf: (item: unknown) => PathElement;
}

interface ListKey {
  readonly name: string;
  readonly schema: Schema;
  /** Replaces a missing key: its default, or its zero value after decoding. Undefined if there is none. */
  readonly fallback: unknown;
}

const shapes = new WeakMap<Schema, Shape>();

function shapeOf(schema: Schema): Shape {
  let shape = shapes.get(schema);
  if (!shape) {
    shape = compile(schema);
    shapes.set(schema, shape);
  }
  return shape;
}

function compile(schema: Schema): Shape {
  switch (schema.type) {
    case 'map':
      if (schema.mapType === 'atomic') return atomicLeaf(schema);
      return { type: 'map', schema, values: shapeOf(schema.values) };
    case 'list':
      return compileList(schema);
    case 'struct':
      return schema.structType === 'atomic' ? atomicLeaf(schema) : compileStruct(schema, compileField);
    case 'any':
      return schema.mapType === 'atomic' ? atomicLeaf(schema) : { type: 'deduced', schema };
    default:
      return { type: 'leaf', atomic: false, schema };
  }
}

const atomicLeaf = (schema: Schema): LeafShape => ({ type: 'leaf', atomic: true, schema });

type FieldCompiler = (name: string, field: Field) => FieldShape;

/** Fields are compiled on first use, since structs may be recursive, and have very many fields. */
const compileStruct = (schema: StructSchema, compileOne: FieldCompiler): StructShape => ({
  type: 'struct',
  schema,
  fields: compileFields(schema, compileOne),
});

function compileFields({ fields, additional }: StructSchema, compileOne: FieldCompiler): FieldShapes {
  const named = new LazyFields(fields, (field, name) => compileOne(name, field));
  if (additional === undefined) return named;
  return {
    get: (name) => named.get(name) ?? additionalField(name, additional),
  };
}

const additionalField = (name: string, additional: Schema | 'preserve'): FieldShape => ({
  element: fieldElement(name),
  shape: shapeOf(additional === 'preserve' ? anyValue() : additional),
  declared: false,
  owners: 'anyone',
  isAbsent: never,
});

const never = (): boolean => false;

const compileField: FieldCompiler = (name, field) => ({
  element: fieldElement(name),
  shape: fieldShape(field),
  declared: true,
  owners: 'anyone',
  isAbsent: absenceTestOf(field),
});

function fieldShape(field: Field): Shape {
  const schema = schemaOf(field);
  return field.structType === 'granular' && schema.type === 'struct'
    ? compileStruct(schema, compileField)
    : shapeOf(schema);
}

function absenceTestOf(field: Field): FieldShape['isAbsent'] {
  const schema = schemaOf(field);
  // In a custom object that was merged, null is a value like others; see `keepNulls`.
  if (schema.structural && field.default === undefined) return never;
  const test = field.presence === 'implicit' ? isDropped(schema) : isNull;
  return schema.nullable ? (value) => value !== null && test(value) : test;
}

const isNull = (value: unknown): boolean => value === null;

/** Values that decoding drops; see `presence` in the schema language. */
function isDropped({ type }: Schema): (value: unknown) => boolean {
  switch (type) {
    case 'struct':
    case 'any':
    case 'time':
    case 'quantity':
    case 'intOrString':
      return isNull;
    case 'list':
    case 'map':
      return isEmpty;
    default:
      return (value) => value === null || value === '' || value === 0 || value === false;
  }
}

/** Null and empty containers. */
export function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (!isRecord(value)) return value === null || value === undefined;
  for (const _ in value) return false;
  return true;
}

function compileList(schema: ListSchema): Shape {
  const { listType, mapKeys = [], items } = schema;
  const itemShape = shapeOf(items);
  if (listType === 'set') return { type: 'list', schema, items: itemShape, keys: [], elementOf: valueElement };
  if (listType === 'atomic' || mapKeys.length === 0 || items.type !== 'struct') return atomicLeaf(schema);
  const keys = [...mapKeys].sort(compareText).map((name) => compileKey(name, items.fields[name]));
  return { type: 'list', schema, items: itemShape, keys, elementOf: compileKeyReader(keys) };
}

function compileKey(name: string, field: Field | undefined): ListKey {
  if (!field) throw new TypeError(`a list is merged on ${name}, which its elements do not have`);
  const schema = schemaOf(field);
  return { name, schema, fallback: field.default ?? (field.presence === 'always' ? zeroOf(schema) : undefined) };
}

function zeroOf({ type }: Schema): unknown {
  if (type === 'string') return '';
  if (type === 'boolean') return false;
  return type === 'integer' || type === 'number' || type === 'intOrString' ? 0 : undefined;
}

function compileKeyReader(keys: readonly ListKey[]): ListShape['elementOf'] {
  const names = keys.map(({ name }) => name);
  const fallbacks = keys.map(({ fallback }) => fallback ?? null);
  return (item) => {
    const record = isRecord(item) ? item : {};
    return keyElement(names, (name, index) => getOwn(record, name) ?? fallbacks[index]);
  };
}

const objectShapes = new WeakMap<StructSchema, StructShape>();

/**
 * The shape of the objects of a kind. Server-managed fields have no owner: apiVersion, kind, identity and bookkeeping
 * metadata.
 */
export function objectShapeOf(schema: StructSchema): StructShape {
  let shape = objectShapes.get(schema);
  if (!shape) {
    shape = compileStruct(schema, compileTopField);
    objectShapes.set(schema, shape);
  }
  return shape;
}

const compileTopField: FieldCompiler = (name, field) => {
  const compiled = compileField(name, field);
  if (name === 'apiVersion' || name === 'kind') return { ...compiled, owners: 'nobody' };
  const schema = schemaOf(field);
  if (name !== 'metadata' || schema.type !== 'struct') return compiled;
  return { ...compiled, owners: 'below', shape: compileStruct(schema, compileMetadataField) };
};

const compileMetadataField: FieldCompiler = (name, field) => ({
  ...compileField(name, field),
  owners: ownerlessMetadata.has(name) ? 'nobody' : 'anyone',
});

/**
 * Identity and fields that only the server sets. kube-apiserver lets an applier own the deletion fields although it
 * ignores their applied values; here fields that clients cannot set have no owner.
 */
const ownerlessMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'managedFields',
]);
