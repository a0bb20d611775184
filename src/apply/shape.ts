import { isRecord } from '../schema/own-property.ts';
import { anyValue, type Field, type ListSchema, type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';
import { fieldElement, keyElement, type PathElement, valueElement } from './field-path.ts';
import { compareText } from './published-json.ts';

/**
 * What ownership needs to know of a schema (spec section 4.7): which values are owned whole, and how the parts of the
 * others are told apart.
 */
export type Shape = LeafShape | DeducedShape | MapShape | StructShape | ListShape;

/** Owned and replaced whole: scalars and atomic containers. */
export interface LeafShape {
  readonly type: 'leaf';
  /** A container: what was owned in it before it became atomic makes its owner one of the whole. */
  readonly atomic: boolean;
  readonly schema: Schema;
}

/** No schema: the value itself says what it is. Objects are granular, lists atomic, and so is all within. */
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

/** Fields by name; those without a schema of their own among them, where the struct keeps such. */
interface FieldShapes {
  get(name: string): FieldShape | undefined;
}

export interface FieldShape {
  readonly element: PathElement;
  readonly shape: Shape;
  /** Who can own it: `below` is for metadata, of which only parts are owned; `nobody` for what the server keeps. */
  readonly owners: 'anyone' | 'below' | 'nobody';
  /** True for a value that is not there once the object was decoded, so that being asked for and being absent are one. */
  readonly isAbsent: (value: unknown) => boolean;
}

/** A set, or a list whose elements have keys. Elements that are the same, or share their keys, may be in it. */
export interface ListShape {
  readonly type: 'list';
  readonly schema: Schema;
  readonly items: Shape;
  /** Keys of `map` lists, sorted; empty for sets. */
  readonly keys: readonly ListKey[];
  /** The path element of an element of the list. A key that is missing and has no default counts as null. */
  readonly elementOf: (item: unknown) => PathElement;
}

interface ListKey {
  readonly name: string;
  readonly schema: Schema;
  /** Stands in for a missing key: its default, or what decoding makes of it. Undefined where there is none. */
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
      return { type: 'deduced', schema };
    default:
      return { type: 'leaf', atomic: false, schema };
  }
}

const atomicLeaf = (schema: Schema): LeafShape => ({ type: 'leaf', atomic: true, schema });

type FieldCompiler = (name: string, field: Field) => FieldShape;

/** Fields are compiled on first use, since structs may hold themselves. */
function compileStruct(schema: StructSchema, compileOne: FieldCompiler): StructShape {
  let fields: FieldShapes | undefined;
  return {
    type: 'struct',
    schema,
    get fields() {
      fields ??= compileFields(schema, compileOne);
      return fields;
    },
  };
}

function compileFields({ fields, additional }: StructSchema, compileOne: FieldCompiler): FieldShapes {
  const named = new Map(Object.entries(fields).map(([name, field]) => [name, compileOne(name, field)]));
  if (additional === undefined) return named;
  const shape = shapeOf(additional === 'preserve' ? anyValue() : additional);
  return {
    get: (name) => named.get(name) ?? { element: fieldElement(name), shape, owners: 'anyone', isAbsent: never },
  };
}

const never = (): boolean => false;

const compileField: FieldCompiler = (name, field) => ({
  element: fieldElement(name),
  shape: shapeOf(schemaOf(field)),
  owners: 'anyone',
  isAbsent: absenceTestOf(field),
});

function absenceTestOf(field: Field): FieldShape['isAbsent'] {
  const schema = schemaOf(field);
  const test = field.presence === 'implicit' ? isDropped(schema) : isNull;
  return schema.nullable ? (value) => value !== null && test(value) : test;
}

const isNull = (value: unknown): boolean => value === null;

/** What decoding drops; see `presence` in the schema language. */
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

/** Null, and containers without parts: where there is nothing to tell apart. */
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
    return keyElement(names, (name, index) => record[name] ?? fallbacks[index]);
  };
}

const objectShapes = new WeakMap<StructSchema, StructShape>();

/**
 * The shape of a kind's objects. What the server keeps has no owner: apiVersion and kind, identity and bookkeeping in
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
 * Identity, and what the server alone sets. Published servers let an apply own what a deletion sets, although they don't
 * keep what it asks for; here nobody owns what no client can set.
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
