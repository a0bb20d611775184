import { StatusError } from '../../meta/status-error.ts';
import { decodeValue } from '../decode.ts';
import { applyDefaults } from '../defaults.ts';
import { equalValues } from '../equal-values.ts';
import { fieldListsOf } from '../field-lists.ts';
import { LazyFields } from '../lazy-fields.ts';
import { isRecord } from '../own-property.ts';
import {
  type Field,
  isScalar,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StructSchema,
  schemaOf,
} from '../schema.ts';

interface Normalised {
  /** The value given, if nothing had to change. */
  readonly value: unknown;
  readonly changed: boolean;
}

/**
 * Brings a stored object to the form that its schema gives to new ones, since the schema may have changed after it was
 * written: unknown fields are pruned, defaults are set. Values that are invalid stay. Nearly always nothing changes, and
 * finding that out copies nothing. Does not look at the object's own apiVersion, kind and metadata.
 */
export function normalise(schema: StructSchema, object: unknown): Normalised {
  if (!isRecord(object) || conformsAtRoot(schema, object)) return { value: object, changed: false };
  try {
    return { value: whole(schema, object), changed: true };
  } catch (error) {
    // Its defaults are too many: it is shown as it is stored, and can be corrected.
    if (error instanceof StatusError) return { value: object, changed: false };
    throw error;
  }
}

function whole(schema: Schema, sent: unknown): unknown {
  const { value } = decodeValue(schema, sent);
  applyDefaults(schema, value);
  return value;
}

/** True if decoding and defaulting would leave a value as it is, but for the order of its fields. */
type Test = (value: unknown) => boolean;

const always: Test = () => true;

const tests = new WeakMap<Schema, Test>();

function testOf(schema: Schema): Test {
  if (schema.structural && isScalar(schema)) return isNumberKept;
  let test = tests.get(schema);
  if (!test) {
    test = schema.structural ? compile(schema) : (value) => equalValues(whole(schema, value), value);
    tests.set(schema, test);
  }
  return test;
}

function compile(schema: Schema): Test {
  switch (schema.type) {
    case 'struct':
      return compileStruct(schema);
    case 'map':
      return compileMap(schema);
    case 'list':
      return compileList(schema);
    case 'any': {
      if (schema.of === 'bare') return isBare;
      const object = schema.object ? testOf(schema.object) : always;
      const list = schema.list ? testOf(schema.list) : always;
      return (value) => (Array.isArray(value) ? list(value) : isRecord(value) ? object(value) : true);
    }
    default:
      return isNumberKept;
  }
}

const int64 = 2n ** 63n;

/** Integers beyond int64 become doubles. */
const isNumberKept: Test = (value) => typeof value !== 'bigint' || (value >= -int64 && value < int64);

const isKept: Test = (value) => value !== null && isNumberKept(value);

function isBare(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isBare);
  if (isRecord(value)) for (const _ in value) return false;
  return true;
}

/** A test of a value that may be null. */
function compilePart(schema: Schema, hasDefault: boolean): Test {
  const test = testOf(schema);
  if (test === isNumberKept) return schema.nullable ? isNumberKept : isKept;
  if (schema.nullable) return (value) => value === null || test(value);
  const isNullKept = schema.type === 'any' && schema.of === 'bare' && !hasDefault;
  return (value) => (value === null ? isNullKept : test(value));
}

function compileList({ items, itemDefault }: ListSchema): Test {
  const test = testOf(items);
  const isNullKept = items.nullable === true || itemDefault === undefined;
  return (value) => {
    if (!Array.isArray(value)) return true;
    for (const item of value) if (item === null ? !isNullKept : !test(item)) return false;
    return true;
  };
}

function compileMap({ values, valueDefault }: MapSchema): Test {
  const test = compilePart(values, valueDefault !== undefined);
  return (value) => {
    if (!isRecord(value)) return true;
    for (const key in value) if (!test(value[key])) return false;
    return true;
  };
}

interface StructTests {
  readonly fields: LazyFields<Test>;
  /** Fields that must be there, since they have defaults. */
  readonly defaulted: readonly string[];
  /** The test of other fields; undefined if there may be none. */
  readonly others: Test | undefined;
}

function compileStruct(struct: StructSchema): Test {
  let parts: StructTests | undefined;
  return (value) => {
    if (!isRecord(value)) return true;
    parts ??= testsOf(struct, (field) => compilePart(schemaOf(field), field.default !== undefined));
    return conforms(value, parts);
  };
}

function testsOf(struct: StructSchema, compileField: (field: Field) => Test): StructTests {
  const { fields, additional } = struct;
  return {
    fields: new LazyFields(fields, compileField),
    defaulted: fieldListsOf(struct).defaulted,
    others:
      additional === undefined || additional === 'preserve' ? additional && always : compilePart(additional, false),
  };
}

function conforms(value: Readonly<Record<string, unknown>>, { fields, defaulted, others }: StructTests): boolean {
  for (const name in value) {
    const test = fields.get(name) ?? others;
    if (!test?.(value[name])) return false;
  }
  for (const name of defaulted) if (!Object.hasOwn(value, name)) return false;
  return true;
}

const roots = new WeakMap<StructSchema, StructTests>();

function conformsAtRoot(schema: StructSchema, object: Readonly<Record<string, unknown>>): boolean {
  let parts = roots.get(schema);
  if (!parts) {
    // apiVersion, kind and metadata are as the server wrote them.
    parts = testsOf(schema, (field) => {
      const own = schemaOf(field);
      return own.structural ? compilePart(own, field.default !== undefined) : always;
    });
    roots.set(schema, parts);
  }
  return conforms(object, parts);
}
