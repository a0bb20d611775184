import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { decodeValue } from '../decode.ts';
import { applyDefaults } from '../defaults.ts';
import { openapiSchemas } from '../openapi.ts';
import { isRecord } from '../own-property.ts';
import type { StructSchema } from '../schema.ts';
import { validate } from '../validate.ts';
import { normalise } from './normalise.ts';
import { objectMeta, path, schemaFrom, validateMetadata, withSpec } from './structural-fixture.ts';
import { buildStructuralSchema, readStructuralSchema } from './structural-schema.ts';

type Json = Readonly<Record<string, unknown>>;

const names = ['a', 'b', 'metadata', 'spec', 'constructor', '__proto__', 'toString', '', 'a.b', 'x[0]'];
const nameArb = fc.constantFrom(...names);
const optional = (json: Json): fc.Arbitrary<Json> => fc.constantFrom({}, json);
const merged = (...parts: readonly fc.Arbitrary<Json>[]): fc.Arbitrary<Json> =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all));
const object = (properties: Json): Json => ({ type: 'object', properties });

/** Valid schemas of `spec`, with descriptions of how to make valid values of them. */
const { node: schemaArb } = fc.letrec<{ node: Json; leaf: Json }>((tie) => ({
  leaf: fc.oneof(
    merged(
      fc.constant({ type: 'string' }),
      optional({ maxLength: 5 }),
      optional({ minLength: 1 }),
      optional({ description: 'A text.', title: 'Text' }),
    ),
    fc.constant({ type: 'string', enum: ['x', 'y'], default: 'x' }),
    merged(fc.constant({ type: 'integer' }), optional({ minimum: 0, maximum: 9 }), optional({ format: 'int32' })),
    merged(fc.constant({ type: 'number' }), optional({ multipleOf: 0.5 })),
    fc.constant({ type: 'boolean' }),
    merged(
      fc.constant({ 'x-kubernetes-int-or-string': true }),
      optional({ anyOf: [{ type: 'integer' }, { type: 'string' }] }),
      optional({ allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { maxLength: 9 }] }),
    ),
    fc.constant({ 'x-kubernetes-preserve-unknown-fields': true }),
  ),
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    merged(tie('leaf'), fc.constant({ nullable: true })),
    merged(
      fc.dictionary(nameArb, tie('node'), { maxKeys: 4, noNullPrototype: true }).map(object),
      optional({ 'x-kubernetes-preserve-unknown-fields': true }),
      optional({ 'x-kubernetes-map-type': 'atomic' }),
      optional({ additionalProperties: true }),
    ),
    tie('node').map((items) => ({ type: 'array', items })),
    tie('node').map((additionalProperties) => ({ type: 'object', additionalProperties })),
    merged(
      fc.constant({ 'x-kubernetes-preserve-unknown-fields': true }),
      fc.dictionary(nameArb, tie('node'), { maxKeys: 3, noNullPrototype: true }).map((properties) => ({ properties })),
      tie('node').map((items) => ({ items })),
    ),
    fc.boolean().map((additionalProperties) => ({ type: 'object', additionalProperties })),
    fc.constant({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      items: { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'integer' } } },
    }),
    fc.constant({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'integer' } }),
  ),
}));

/** Values that a schema accepts, without unknown fields and with all that has a default. */
function valid(schema: Json): fc.Arbitrary<unknown> {
  const own = schema['nullable'] === true ? fc.oneof(fc.constant(null), validOfType(schema)) : validOfType(schema);
  return schema['default'] === undefined ? own : fc.constantFrom(schema['default']);
}

function validOfType(schema: Json): fc.Arbitrary<unknown> {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.integer(), fc.string({ maxLength: 4 }));
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  switch (schema['type']) {
    case 'string':
      return fc.string({ minLength: 1, maxLength: 2 });
    case 'integer':
      return fc.integer({ min: 0, max: 9 });
    case 'number':
      return fc.integer({ min: -9, max: 9 }).map((value) => value / 2);
    case 'boolean':
      return fc.boolean();
    case 'array':
      if (schema['x-kubernetes-list-type'] === 'set') return fc.uniqueArray(fc.integer(), { maxLength: 3 });
      if (schema['x-kubernetes-list-type'] === 'map')
        return fc.uniqueArray(fc.string(), { maxLength: 3 }).map((keys) => keys.map((a) => ({ a })));
      return fc.array(valid(schema['items'] as Json), { maxLength: 3 });
    case 'object': {
      const { additionalProperties } = schema;
      if (isRecord(additionalProperties))
        return fc.dictionary(nameArb, valid(additionalProperties), { maxKeys: 3, noNullPrototype: true });
      if (additionalProperties === false) return fc.constant({});
      return valuesOf(properties);
    }
    default:
      return fc.oneof(valuesOf(properties), fc.constantFrom(1, 'x', true));
  }
}

const valuesOf = (properties: Json): fc.Arbitrary<Json> =>
  fc
    .tuple(...Object.entries(properties).map(([name, schema]) => fc.tuple(fc.constant(name), valid(schema as Json))))
    .map((entries) => Object.fromEntries(entries));

const metadata = { name: 'a', creationTimestamp: null };
const runs = { numRuns: 300 };

test('valid objects survive decoding, defaults and normalising, and have no errors', () => {
  const pairs = schemaArb.chain((spec) => fc.tuple(fc.constant(spec), valid(spec)));
  fc.assert(
    fc.property(pairs, ([spec, value]) => {
      fc.pre(value !== null);
      const schema = schemaFrom(withSpec(spec));
      const sent = { metadata, spec: value };
      const decoded = decodeValue(schema, sent);
      assert.deepEqual(decoded, { value: sent, unknown: [], errors: [] });
      applyDefaults(schema, decoded.value);
      assert.deepEqual(decoded.value, sent);
      assert.deepEqual(normalise(schema, sent), { value: sent, changed: false });
      assert.deepEqual(validate(schema, sent), []);
    }),
    runs,
  );
});

test('any value is decoded once and for all, and an unchanged one passes an update', () => {
  fc.assert(
    fc.property(schemaArb, fc.jsonValue({ maxDepth: 4 }), (spec, value) => {
      const schema = schemaFrom(withSpec(spec));
      const sent = { metadata, spec: value };
      const { value: kept } = decodeValue(schema, structuredClone(sent));
      applyDefaults(schema, kept);
      const normalised = normalise(schema, structuredClone(sent));
      assert.deepEqual(normalised.value, kept);
      assert.equal(normalised.changed, !isDeepStrictEqual(kept, sent));
      assert.equal(normalise(schema, kept).changed, false);
      validate(schema, kept);
      assert.deepEqual(validate(schema, kept, '', { old: kept }), []);
    }),
    runs,
  );
});

/** The schema of an object from its OpenAPI, in which metadata is a reference. */
function readDocument(schema: StructSchema): StructSchema {
  const root = { ...schema, name: 'test.v1.Thing' };
  const { 'io.test.v1.Thing': document } = openapiSchemas({
    roots: [root],
    version: 3,
    prefix: 'io',
    extension: 'kubernetes',
  });
  const { properties = {}, ...rest } = document as { readonly properties?: Json };
  const { metadata: _, ...others } = properties;
  return buildStructuralSchema({ ...rest, properties: others }, { objectMeta, descriptions: 'all' });
}

test('schemas survive a document', () => {
  fc.assert(
    fc.property(schemaArb, (spec) => {
      const schema = buildStructuralSchema(withSpec(spec), { objectMeta, descriptions: 'all' });
      assert.deepEqual(readDocument(schema), schema);
    }),
    runs,
  );
});

/** Schemas of all keywords with values of all types. */
const keywords = [
  ...['type', 'properties', 'items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf', 'not', 'enum', 'default'],
  ...['required', 'pattern', 'format', 'nullable', 'minimum', 'maxLength', 'definitions', 'dependencies', '$ref', 'id'],
  ...['preserve-unknown-fields', 'embedded-resource', 'int-or-string'].map((name) => `x-kubernetes-${name}`),
  ...['list-type', 'list-map-keys', 'map-type', 'validations'].map((name) => `x-kubernetes-${name}`),
];
const { hostile } = fc.letrec<{ hostile: unknown }>((tie) => ({
  hostile: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(
      'object',
      'array',
      'string',
      'integer',
      'map',
      'set',
      'metadata',
      '(',
      true,
      false,
      null,
      -1,
      2n ** 70n,
    ),
    fc.array(tie('hostile'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...keywords), nameArb), tie('hostile'), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
}));

test('no schema does harm', () => {
  fc.assert(
    fc.property(hostile, fc.jsonValue({ maxDepth: 4 }), (json, value) => {
      const { schema, errors } = readStructuralSchema(json, { path, objectMeta, validateMetadata });
      assert.equal(schema === undefined, errors.length > 0);
      for (const { field } of errors) assert.ok(field.startsWith(path), field);
      const built = schema ?? buildStructuralSchema(json, { objectMeta });
      const { value: kept } = decodeValue(built, value);
      applyDefaults(built, kept);
      validate(built, kept);
      normalise(built, kept);
      openapiSchemas({ roots: [{ ...built, name: 'Thing' }], version: 2, prefix: 'io', extension: 'kubernetes' });
    }),
    { numRuns: 1_000 },
  );
});
