import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFieldError } from '../meta/field-error.ts';
import { decode } from './decode.ts';
import { applyDefaults } from './defaults.ts';
import { openapiSchemas } from './openapi.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';
import { validate } from './validate.ts';

/** Schema features that only custom resources use. */

const field = (schema: Schema, options: Partial<Field> = {}): Field => ({
  schema,
  required: false,
  presence: 'explicit',
  ...options,
});
const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', format: 'int64' };
const object = (fields: Record<string, Field>, options: Partial<StructSchema> = {}): StructSchema => ({
  type: 'struct',
  name: '',
  fields,
  structType: 'granular',
  ...options,
});

interface Row {
  readonly schema: StructSchema;
  readonly sent: Readonly<Record<string, unknown>>;
  /** The value after decoding and defaulting. Default: the value sent. */
  readonly kept?: Readonly<Record<string, unknown>>;
  readonly unknown?: readonly string[];
  /** `path: text`. */
  readonly errors?: readonly string[];
  /** OpenAPI of the schema, version 3. */
  readonly document: Readonly<Record<string, unknown>>;
}

const knownA = { a: field(text) };
const typeString = { type: 'string' };
const typeInteger = { type: 'integer', format: 'int64' };

const rows: Readonly<Record<string, Row>> = {
  'unknown fields are kept beside known ones': {
    schema: object(knownA, { additional: 'preserve' }),
    sent: { z: { deep: [1, null, { x: null }] }, a: 'x', n: null, __proto: 1 },
    kept: { a: 'x', z: { deep: [1, null, { x: null }] }, n: null, __proto: 1 },
    document: { type: 'object', properties: { a: typeString }, 'x-test-preserve-unknown-fields': true },
  },
  'a known field within kept ones is pruned by its own schema': {
    schema: object({ a: field(object({ b: field(text) })) }, { additional: 'preserve' }),
    sent: { a: { b: 'x', c: 1 }, z: { c: 1 } },
    kept: { a: { b: 'x' }, z: { c: 1 } },
    unknown: ['a.c'],
    document: {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: typeString } } },
      'x-test-preserve-unknown-fields': true,
    },
  },
  'unknown fields are kept far below': {
    schema: object({
      list: field({ type: 'list', listType: 'atomic', items: object({ a: field(count) }, { additional: 'preserve' }) }),
    }),
    sent: { list: [{ a: 1, more: {} }, { more: [] }] },
    document: {
      type: 'object',
      properties: {
        list: {
          type: 'array',
          'x-test-list-type': 'atomic',
          items: {
            type: 'object',
            properties: { a: typeInteger },
            'x-test-preserve-unknown-fields': true,
            default: {},
          },
        },
      },
    },
  },
  'other fields have a schema': {
    schema: object(knownA, { additional: object({ n: field(count, { default: 7 }) }) }),
    sent: { a: 'x', one: {}, two: { n: 1, m: 2 } },
    kept: { a: 'x', one: { n: 7 }, two: { n: 1 } },
    unknown: ['two.m'],
    document: {
      type: 'object',
      properties: { a: typeString },
      additionalProperties: { type: 'object', properties: { n: { ...typeInteger, default: 7 } } },
    },
  },
  'other fields are checked': {
    schema: object(knownA, { additional: { ...count, constraint: { minimum: 2 } } }),
    sent: { a: 'x', one: 1, two: 2 },
    errors: ['one: Invalid value: 1: one in body should be greater than or equal to 2'],
    document: { type: 'object', properties: { a: typeString }, additionalProperties: { ...typeInteger, minimum: 2 } },
  },
  'null is a value where the schema says so': {
    schema: object({
      a: field({ ...text, nullable: true }, { default: 'd' }),
      b: field(text, { default: 'd' }),
      list: field({ type: 'list', listType: 'atomic', items: { ...count, nullable: true } }),
      map: field({ type: 'map', mapType: 'granular', values: { ...text, nullable: true } }),
    }),
    sent: { a: null, b: null, list: [null, 1], map: { k: null } },
    kept: { a: null, b: 'd', list: [null, 1], map: { k: null } },
    document: {
      type: 'object',
      properties: {
        a: { ...typeString, nullable: true, default: 'd' },
        b: { ...typeString, default: 'd' },
        list: { type: 'array', items: { ...typeInteger, nullable: true }, 'x-test-list-type': 'atomic' },
        map: { type: 'object', additionalProperties: { ...typeString, nullable: true } },
      },
    },
  },
  'of null only the closed list is asked': {
    schema: object({
      a: field({ ...text, nullable: true, constraint: { enum: ['x'], minLength: 1 } }),
      b: field({ ...text, nullable: true, constraint: { enum: ['x', null], minLength: 1 } }),
      c: field({ ...text, nullable: true, lengthMin: 1 }),
    }),
    sent: { a: null, b: null, c: null },
    errors: ['a: Unsupported value: "null": supported values: "x"'],
    document: {
      type: 'object',
      properties: {
        a: { ...typeString, enum: ['x'], minLength: 1, nullable: true },
        b: { ...typeString, enum: ['x', null], minLength: 1, nullable: true },
        c: { ...typeString, nullable: true },
      },
    },
  },
  'an object within another': {
    schema: object({ it: field(object({ apiVersion: field(text), kind: field(text) }, { embedded: true })) }),
    sent: { it: { apiVersion: 'a/b/c', kind: 'No Kind' } },
    errors: [
      'it.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      "it.kind: Invalid value: \"No Kind\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    document: {
      type: 'object',
      properties: {
        it: {
          type: 'object',
          properties: { apiVersion: typeString, kind: typeString },
          'x-test-embedded-resource': true,
        },
      },
    },
  },
  'an object within another that does not say what it is': {
    schema: object({ it: field(object({ kind: field(text) }, { embedded: true, additional: 'preserve' })) }),
    sent: { it: { kind: '', spec: {} } },
    errors: ['it.apiVersion: Required value: must not be empty', 'it.kind: Invalid value: "": must not be empty'],
    document: {
      type: 'object',
      properties: {
        it: {
          type: 'object',
          properties: { kind: typeString },
          'x-test-preserve-unknown-fields': true,
          'x-test-embedded-resource': true,
        },
      },
    },
  },
  'integers or strings of 64 bits': {
    schema: object({
      a: field({ type: 'intOrString', format: 'int64' }),
      b: field({ type: 'intOrString', format: 'int64' }),
    }),
    sent: { a: 2 ** 40, b: '50%' },
    document: {
      type: 'object',
      properties: Object.fromEntries(
        ['a', 'b'].map((name) => [
          name,
          { allOf: [{ $ref: '#/components/schemas/io.apimachinery.pkg.util.intstr.IntOrString' }] },
        ]),
      ),
    },
  },
  'keys of maps in paths': {
    schema: object({
      a: field({
        type: 'map',
        mapType: 'granular',
        structural: true,
        values: { ...text, structural: true, constraint: { maxLength: 1 } },
      }),
    }),
    sent: { a: { k: 'long' } },
    errors: ['a.k: Too long: may not be more than 1 bytes'],
    document: {
      type: 'object',
      properties: { a: { type: 'object', additionalProperties: { ...typeString, maxLength: 1 } } },
    },
  },
  'rules are told to clients': {
    schema: object(knownA, { rules: [{ rule: 'has(self.a)', message: 'a is needed' }] }),
    sent: {},
    document: {
      type: 'object',
      properties: { a: typeString },
      'x-test-validations': [{ rule: 'has(self.a)', message: 'a is needed' }],
    },
  },
};

for (const [name, { schema, sent, kept = sent, unknown = [], errors = [], document }] of Object.entries(rows)) {
  test(name, () => {
    const decoded = decode(schema, sent);
    assert.deepEqual(decoded.errors, []);
    assert.deepEqual(decoded.unknown, unknown);
    applyDefaults(schema, decoded.value);
    assert.deepEqual(decoded.value, kept);
    assert.deepEqual(decode(schema, decoded.value), { value: kept, unknown: [], errors: [] }, 'decoding is idempotent');
    assert.deepEqual(
      validate(schema, decoded.value).map((error) => `${error.field}: ${describeFieldError(error)}`),
      errors,
    );
    const holder = object({ it: field(schema) }, { name: 'Holder' });
    const { 'io.Holder': found } = openapiSchemas({ roots: [holder], version: 3, prefix: 'io', extension: 'test' });
    assert.deepEqual(found, { type: 'object', properties: { it: document } });
  });
}

test('fields may have names of prototype properties', () => {
  const schema = object({}, { additional: 'preserve' });
  const sent = JSON.parse('{"__proto__":{"a":1},"constructor":2}');
  const { value } = decode(schema, sent);
  assert.equal(JSON.stringify(value), '{"__proto__":{"a":1},"constructor":2}');
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test('findings of other fields come in the order of the input', () => {
  const schema = object({ b: field(count) }, { additional: count });
  const { errors } = decode(schema, { c: 'x', b: 'x', a: 'x' });
  assert.deepEqual(
    errors.map(({ path }) => path),
    ['c', 'b', 'a'],
  );
  assert.equal(schemaOf(field(count)), count);
});
