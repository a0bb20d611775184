import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { decode } from '../decode.ts';
import { applyDefaults } from '../defaults.ts';
import { validate } from '../validate.ts';
import { normalise } from './normalise.ts';
import { errorText, schemaFrom, withSpec } from './structural-fixture.ts';

/** What becomes of `spec` when an object is written: unknown fields, null, types, defaults. */

interface Row {
  /** The schema of `spec`. */
  readonly schema: unknown;
  readonly sent: unknown;
  /** `spec` as stored. Default: as sent. */
  readonly kept?: unknown;
  readonly unknown?: readonly string[];
  /** `path: text`, in order. */
  readonly errors?: readonly string[];
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
const intOrString = { 'x-kubernetes-int-or-string': true };
const listOf = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const mapOf = (additionalProperties: unknown, more: object = {}) => ({ type: 'object', additionalProperties, ...more });
const wrongType = (path: string, expected: string, got: string): string =>
  `${path}: Invalid value: "${got}": ${path} in body must be of type ${expected}: "${got}"`;
const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":3,"":4}');

const rows: Readonly<Record<string, Row>> = {
  'fields of every type': {
    schema: object({
      s: text,
      i: integer,
      n: { type: 'number' },
      b: { type: 'boolean' },
      l: listOf(text),
      p: intOrString,
    }),
    sent: { s: '', i: 0, n: 1.5, b: false, l: [], p: '50%' },
  },
  'values of another type': {
    schema: object({
      s: text,
      i: integer,
      n: { type: 'number' },
      b: { type: 'boolean' },
      l: listOf(text),
      p: intOrString,
      o: object({}),
      m: mapOf(text),
    }),
    sent: { s: 1, i: '1', n: true, b: {}, l: 'x', p: 1.5, o: [], m: null },
    kept: { s: 1, i: '1', n: true, b: {}, l: 'x', p: 1.5, o: [] },
    errors: [
      wrongType('spec.s', 'string', 'integer'),
      wrongType('spec.i', 'integer', 'string'),
      wrongType('spec.n', 'number', 'boolean'),
      wrongType('spec.b', 'boolean', 'object'),
      wrongType('spec.l', 'array', 'string'),
      wrongType('spec.p', 'integer,string', 'number'),
      wrongType('spec.o', 'object', 'array'),
    ],
  },
  'a value of another type, and what else is wrong with it': {
    schema: object({ a: { ...integer, maxLength: 1, enum: [1] } }, { required: ['b'] }),
    sent: { a: 'xy' },
    errors: [
      wrongType('spec.a', 'integer', 'string'),
      'spec.a: Too long: may not be more than 1 bytes',
      'spec.a: Unsupported value: "xy": supported values: "1"',
      'spec.b: Required value',
    ],
  },
  'a number where a format is expected': {
    schema: object({ a: { ...text, format: 'date' }, b: { ...text, format: 'of-nobody' } }),
    sent: { a: 1, b: 1 },
    errors: [
      'spec.a: Invalid value: "int64": spec.a in body must be of type date: "int64"',
      wrongType('spec.b', 'string', 'integer'),
    ],
  },
  'integers beyond 2^53': {
    schema: object({ a: integer, b: { type: 'number' }, c: intOrString, d: { ...preserve } }),
    sent: { a: 2n ** 63n - 1n, b: 2n ** 53n + 1n, c: -(2n ** 63n), d: { e: 2n ** 60n } },
  },
  'integers beyond 2^63 are numbers': {
    schema: object({ a: integer, b: { type: 'number' } }),
    sent: { a: 2n ** 63n, b: -(2n ** 64n) },
    kept: { a: 2 ** 63, b: -(2 ** 64) },
    errors: [wrongType('spec.a', 'integer', 'number')],
  },
  'integers that are written as numbers': {
    schema: object({ a: integer, b: integer }),
    sent: JSON.parse('{"a":1.0,"b":1e3}'),
    kept: { a: 1, b: 1000 },
  },
  'formats of numbers are not checked': {
    schema: object({ a: { ...integer, format: 'int32' } }),
    sent: { a: 2 ** 40 },
  },
  'unknown fields': {
    schema: object({ a: object({}), l: listOf(object({ a: text })), m: mapOf(object({ a: text })) }),
    sent: { a: { b: 1 }, l: [{ a: 'x', b: 1 }], m: { k: { b: 1 } }, c: 1 },
    kept: { a: {}, l: [{ a: 'x' }], m: { k: {} } },
    unknown: ['spec.a.b', 'spec.l[0].b', 'spec.m.k.b', 'spec.c'],
  },
  'unknown fields that are kept, but not within declared ones': {
    schema: object({ a: object({ b: text }) }, preserve),
    sent: { a: { b: 'x', c: 1 }, z: { c: null } },
    kept: { a: { b: 'x' }, z: { c: null } },
    unknown: ['spec.a.c'],
  },
  'a list that keeps unknown fields of its items': {
    schema: listOf(object({ a: object({}) }), preserve),
    sent: [{ a: { b: 1 }, c: 1 }],
    kept: [{ a: {}, c: 1 }],
    unknown: ['spec[0].a.b'],
  },
  'any value': {
    schema: object({ a: preserve, b: preserve, c: preserve, d: preserve }),
    sent: { a: { b: [null] }, b: 1, c: [{}], d: null },
    kept: { a: { b: [null] }, b: 1, c: [{}] },
  },
  'any value, with a schema for objects and lists': {
    schema: listOf({ ...preserve, properties: { a: object({ b: text }) }, items: object({ c: integer }) }),
    sent: [{ a: { b: 1, x: 1 }, y: 1 }, [{ c: 'x', y: 1 }], 'text', null],
    kept: [{ a: { b: 1 }, y: 1 }, [{ c: 'x', y: 1 }], 'text', null],
    unknown: ['spec[0].a.x'],
    errors: [wrongType('spec[0].a.b', 'string', 'integer'), wrongType('spec[1][0].c', 'integer', 'string')],
  },
  'additional properties of which nothing is said': {
    schema: mapOf(true),
    sent: { a: { b: 1 }, c: [{ d: 1 }, 2], e: null },
    kept: { a: {}, c: [{}, 2], e: null },
    unknown: ['spec.a.b', 'spec.c[0].d'],
  },
  'additional properties beside others': {
    schema: object({ a: text }, { additionalProperties: true }),
    sent: { a: 'x', b: 1, c: { d: 1 } },
    kept: { a: 'x', b: 1, c: {} },
    unknown: ['spec.c.d'],
  },
  'no additional properties': {
    schema: mapOf(false),
    sent: { a: 1 },
    errors: ['spec: Invalid value: "a": spec.a in body is a forbidden property'],
  },
  null: {
    schema: object({
      a: text,
      b: { ...text, nullable: true },
      c: { ...text, default: 'd' },
      d: { ...text, nullable: true, default: 'd' },
      e: object({}, { nullable: true }),
    }),
    sent: { a: null, b: null, c: null, d: null, e: null, f: null },
    kept: { b: null, c: 'd', d: null, e: null },
    unknown: ['spec.f'],
  },
  'null in lists': {
    schema: object({
      a: listOf(text),
      b: listOf({ ...text, nullable: true }),
      c: listOf({ ...text, default: 'd' }),
      d: listOf({ ...text, nullable: true, default: 'd' }),
    }),
    sent: { a: [null], b: [null], c: [null], d: [null] },
    kept: { a: [null], b: [null], c: ['d'], d: [null] },
    errors: [wrongType('spec.a[0]', 'string', 'null')],
  },
  'null in maps': {
    schema: object({
      a: mapOf(text),
      b: mapOf({ ...text, nullable: true }),
      c: mapOf({ ...text, default: 'd' }),
      d: mapOf({ ...text, nullable: true, default: 'd' }),
      e: mapOf(preserve),
    }),
    sent: { a: { k: null }, b: { k: null }, c: { k: null }, d: { k: null }, e: { k: null } },
    kept: { a: {}, b: { k: null }, c: { k: 'd' }, d: { k: null }, e: {} },
  },
  'null of an enum': {
    schema: object({ a: { ...text, nullable: true, enum: ['x'] }, b: { ...text, nullable: true, enum: ['x', null] } }),
    sent: { a: null, b: null },
    errors: ['spec.a: Unsupported value: "null": supported values: "x"'],
  },
  'defaults within defaults': {
    schema: object({
      a: object({ b: { ...integer, default: 1 }, c: integer }, { default: { c: 2 } }),
      l: listOf(object({ b: { ...integer, default: 1 } })),
      m: mapOf(object({ b: { ...integer, default: 2n ** 60n } })),
      o: object({ b: { ...integer, default: 1 } }),
    }),
    sent: { l: [{}], m: { k: {} } },
    kept: { a: { b: 1, c: 2 }, l: [{ b: 1 }], m: { k: { b: 2n ** 60n } } },
  },
  'names of prototype properties': {
    schema: object(
      JSON.parse(
        '{"__proto__":{"type":"object","properties":{"a":{"type":"integer","default":5}}},"constructor":{"type":"integer","default":7},"toString":{"type":"integer"},"":{"type":"integer"}}',
      ),
    ),
    sent: hostile,
  },
  'names of prototype properties that are absent': {
    schema: object(
      { constructor: { ...integer, default: 7 }, toString: integer },
      { required: ['valueOf', '__proto__'] },
    ),
    sent: {},
    kept: { constructor: 7 },
    errors: ['spec.valueOf: Required value', 'spec.__proto__: Required value'],
  },
  'names of prototype properties as keys': { schema: mapOf(preserve), sent: hostile },
  'a required field may be empty': {
    schema: object({ a: text, b: { ...text, nullable: true } }, { required: ['a', 'b'] }),
    sent: { a: '', b: null },
  },
  'an embedded object': {
    schema: object({ o: { ...embedded, ...object({ a: text }) } }),
    sent: { o: { apiVersion: 'v1', kind: 'A', metadata: { name: 'a', creationTimestamp: null, x: 1 }, a: 'x', b: 1 } },
    kept: { o: { apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, a: 'x' } },
    unknown: ['spec.o.metadata.x', 'spec.o.b'],
  },
  'an embedded object with defaults and limits of metadata': {
    schema: object({
      o: {
        ...embedded,
        ...object({
          kind: { ...text, enum: ['A'] },
          metadata: object({
            name: { ...text, maxLength: 1 },
            labels: object({ app: { ...text, default: 'x' }, tier: { ...text, pattern: '^t' } }),
          }),
        }),
      },
    }),
    sent: { o: { apiVersion: 'v1', kind: 'B', metadata: { name: 'ab', labels: { tier: 'x', more: 'y' } } } },
    kept: {
      o: { apiVersion: 'v1', kind: 'B', metadata: { name: 'ab', labels: { app: 'x', tier: 'x', more: 'y' } } },
    },
    errors: [
      'spec.o.kind: Unsupported value: "B": supported values: "A"',
      'spec.o.metadata.name: Too long: may not be more than 1 bytes',
      'spec.o.metadata.labels.tier: Invalid value: "x": spec.o.metadata.labels.tier in body should match \'^t\'',
    ],
  },
  'an embedded object with a default of labels': {
    schema: object({
      o: { ...embedded, ...object({ metadata: object({ labels: object({ app: text }, { default: { app: 'x' } }) }) }) },
    }),
    sent: { o: { apiVersion: 'v1', kind: 'B', metadata: {} } },
    kept: { o: { apiVersion: 'v1', kind: 'B', metadata: { labels: { app: 'x' } } } },
  },
  'an embedded object in a map that does not say what it is': {
    schema: mapOf({ ...embedded, ...preserve }),
    sent: { k: { kind: '' } },
    errors: [
      'spec[k].apiVersion: Required value: must not be empty',
      'spec[k].kind: Invalid value: "": must not be empty',
    ],
  },
  duplicates: {
    schema: object({
      set: listOf(text, { 'x-kubernetes-list-type': 'set' }),
      map: mapOf(
        listOf(object({ a: text, b: integer }, { required: ['a', 'b'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['a', 'b'],
        }),
      ),
      atomic: listOf(text),
    }),
    sent: {
      set: ['a', 'b', 'a', 'a'],
      map: {
        k: [
          { a: 'x', b: 1 },
          { a: 'x', b: 2 },
          { b: 1, a: 'x' },
        ],
      },
      atomic: ['a', 'a'],
    },
    errors: [
      'spec.set[2]: Duplicate value: "a"',
      'spec.map[k][2]: Duplicate value: map[string]interface {}{"a":"x", "b":1}',
    ],
  },
  'items of a list map that are no objects': {
    schema: object({
      map: listOf(object({ a: text }, { required: ['a'] }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a'],
      }),
      other: integer,
    }),
    sent: { map: [1, 'x', 'x'], other: 'x' },
    errors: [
      ...['integer', 'string', 'string'].map((type, index) => wrongType(`spec.map[${index}]`, 'object', type)),
      wrongType('spec.other', 'integer', 'string'),
      'spec.map[0]: Invalid value: 1: must be an object for an array of list-type map',
    ],
  },
  'a field in junctors': {
    schema: object(
      { a: text, b: integer },
      { oneOf: [{ required: ['a'] }, { required: ['b'] }], allOf: [{ properties: { b: { minimum: 2 } } }] },
    ),
    sent: { a: 'x', b: 1 },
    errors: [
      '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      'spec.b: Invalid value: 1: spec.b in body should be greater than or equal to 2',
      '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
    ],
  },
};

for (const [name, { schema: spec, sent, kept = sent, unknown = [], errors = [] }] of Object.entries(rows)) {
  test(name, () => {
    const schema = schemaFrom(withSpec(spec));
    const decoded = decode(schema, { metadata: { name: 'a' }, spec: sent });
    assert.deepEqual(decoded.unknown, unknown);
    assert.deepEqual(decoded.errors, []);
    applyDefaults(schema, decoded.value);
    const { spec: value } = decoded.value as { spec?: unknown };
    assert.deepEqual(value, kept);
    assert.equal(Object.getPrototypeOf(value), Array.isArray(value) ? Array.prototype : Object.prototype);
    assert.deepEqual(validate(schema, decoded.value).map(errorText), errors);
    const again = decode(schema, decoded.value);
    assert.deepEqual([again.value, again.unknown], [decoded.value, []], 'decoding is idempotent');
    applyDefaults(schema, again.value);
    assert.deepEqual(again.value, decoded.value, 'and so are defaults');
    const metadata = { name: 'a', creationTimestamp: null };
    const normalised = normalise(schema, { metadata, spec: sent });
    assert.deepEqual(normalised.value, { metadata, spec: kept });
    assert.equal(normalised.changed, !isDeepStrictEqual(sent, kept));
    assert.equal(normalise(schema, decoded.value).changed, false);
  });
}

test('types of metadata are errors of decoding', () => {
  const schema = schemaFrom(withSpec(object({ o: { ...embedded, ...preserve } })));
  const { errors } = decode(schema, { metadata: { name: 1 }, spec: { o: { kind: 1, metadata: { labels: 'x' } } } });
  assert.deepEqual(
    errors.map(({ path }) => path),
    ['metadata.name', 'spec.o.kind', 'spec.o.metadata.labels'],
  );
});
