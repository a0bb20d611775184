import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openapiSchemas } from './openapi.ts';
import { objectMeta, withSpec } from './structural/structural-fixture.ts';
import { buildStructuralSchema } from './structural/structural-schema.ts';

/** Documents of custom resources: what is said of `spec`. */

interface Row {
  readonly schema: unknown;
  /** Default: the same as the schema. */
  readonly v3?: unknown;
  /** Default: the same as in version 3. */
  readonly v2?: unknown;
}

const text = { type: 'string' };
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const intOrString = { 'x-kubernetes-int-or-string': true };
const either = [{ type: 'integer' }, text];
const reference = (place: string) => ({ $ref: `#/${place}/io.apimachinery.pkg.apis.meta.v1.ObjectMeta` });

const rows: Readonly<Record<string, Row>> = {
  'titles, descriptions, defaults and limits': {
    schema: {
      type: 'object',
      description: 'd',
      required: ['a'],
      properties: {
        a: { ...text, title: 't', description: 'd', default: 'x', maxLength: 3, format: 'date', enum: ['x'] },
        b: { type: 'integer', format: 'int32', minimum: 1, exclusiveMinimum: true },
        c: { type: 'number', multipleOf: 2 },
        d: { type: 'array', description: 'd', maxItems: 3, items: { ...text, description: 'i', default: 'x' } },
        e: { type: 'object', maxProperties: 3, additionalProperties: { ...text, description: 'v', default: 'x' } },
      },
    },
  },
  'lists and maps': {
    schema: {
      type: 'object',
      'x-kubernetes-map-type': 'atomic',
      properties: {
        set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        atomic: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
        granular: { type: 'object', properties: { a: text }, 'x-kubernetes-map-type': 'granular' },
        map: {
          type: 'array',
          items: { type: 'object', required: ['a'], properties: { a: text } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['a'],
        },
      },
    },
  },
  rules: { schema: { ...text, 'x-kubernetes-validations': [{ rule: 'self != ""', message: 'm' }] } },
  alternatives: {
    schema: {
      ...text,
      allOf: [{ minLength: 1 }],
      anyOf: [{ pattern: 'a' }],
      oneOf: [{ maxLength: 3 }],
      not: { enum: ['x'] },
    },
    v2: text,
  },
  'an integer or string': { schema: intOrString, v3: { ...intOrString, anyOf: either }, v2: intOrString },
  'an integer or string with a limit': {
    schema: { ...intOrString, allOf: [{ anyOf: either }, { maxLength: 3 }], anyOf: [{ pattern: 'a' }], pattern: 'b' },
    v3: { ...intOrString, allOf: [{ anyOf: either }, { maxLength: 3 }], anyOf: [{ pattern: 'a' }], pattern: 'b' },
    v2: { ...intOrString, pattern: 'b' },
  },
  null: {
    schema: {
      type: 'object',
      required: ['a', 'b', 'c'],
      properties: {
        a: { ...text, nullable: true, default: 'x' },
        b: { type: 'object', nullable: true, properties: { c: text } },
        c: { type: 'array', nullable: true, items: text, maxItems: 3 },
        d: text,
      },
    },
    v2: { type: 'object', properties: { a: { default: 'x' }, b: {}, c: { maxItems: 3 }, d: text } },
  },
  'unknown fields that are kept': {
    schema: { type: 'object', ...preserve, properties: { a: text } },
    v2: preserve,
  },
  'any value': { schema: { ...preserve, properties: { a: text }, items: text }, v2: preserve },
  'values of any type in a map': { schema: { type: 'object', additionalProperties: true } },
  'no values in a map': { schema: { type: 'object', additionalProperties: false } },
  'an embedded object': {
    schema: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { a: text } },
    v3: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { apiVersion: text, kind: text, metadata: { allOf: [reference('components/schemas')] }, a: text },
    },
    v2: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { apiVersion: text, kind: text, metadata: reference('definitions'), a: text },
    },
  },
};

for (const [name, { schema: spec, v3 = spec, v2 = v3 }] of Object.entries(rows)) {
  for (const [version, expected] of [
    [2, v2],
    [3, v3],
  ] as const) {
    test(`${name}, version ${version}`, () => {
      const read = buildStructuralSchema(withSpec(spec), { objectMeta, descriptions: 'all' });
      const root = { ...read, name: 'Thing' };
      const { 'io.Thing': thing } = openapiSchemas({ roots: [root], version, prefix: 'io', extension: 'kubernetes' });
      const { properties } = thing as { readonly properties: Readonly<Record<string, unknown>> };
      assert.deepEqual(properties['spec'], expected);
    });
  }
}

test('the object itself', () => {
  const schema = { type: 'object', description: 'd', required: ['spec'], properties: { spec: text } };
  const kept = { ...schema, ...preserve };
  const kind = { group: 'g', version: 'v1', kind: 'Thing' };
  for (const [version, json, expected] of [
    [2, schema, ['apiVersion', 'kind', 'metadata', 'spec']],
    [3, schema, ['apiVersion', 'kind', 'metadata', 'spec']],
    // Clients would refuse unknown fields if they knew of any.
    [2, kept, undefined],
    [3, kept, ['apiVersion', 'kind', 'metadata', 'spec']],
  ] as const) {
    const root = { ...buildStructuralSchema(json, { objectMeta, descriptions: 'all' }), name: 'Thing' };
    const kinds = new Map([[root, [kind]]]);
    const { 'io.Thing': thing } = openapiSchemas({
      roots: [root],
      version,
      prefix: 'io',
      extension: 'kubernetes',
      kinds,
    });
    const { properties, type, 'x-kubernetes-group-version-kind': of } = thing as Record<string, unknown>;
    assert.deepEqual([type, of, properties && Object.keys(properties)], ['object', [kind], expected]);
  }
});
