import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { describeFieldError } from '../meta/field-error.ts';
import type { Constraint } from './constraint.ts';
import { type Schema, type StructSchema, schemaOf } from './schema.ts';
import { validate } from './validate.ts';

const any: Schema = { type: 'any', of: 'value' };

/** A constraint on the field `it` of a `spec`, so that messages show full paths. */
const within = (constraint: Constraint): StructSchema => ({
  type: 'struct',
  name: '',
  structType: 'granular',
  fields: { it: { schema: { ...any, constraint }, required: false, presence: 'explicit' } },
});

const texts = (constraint: Constraint, value: unknown): string[] =>
  validate(within(constraint), { it: value }, 'spec').map((error) => `${error.field}: ${describeFieldError(error)}`);

/** `good` values are valid, `bad` ones have the given errors. */
interface Row {
  readonly constraint: Constraint;
  readonly good: readonly unknown[];
  readonly bad: readonly (readonly [value: unknown, ...errors: string[]])[];
}

const rows: Readonly<Record<string, Row>> = {
  minimum: {
    constraint: { minimum: 2 },
    good: [2, 2.5, 3n, 'text', [], {}],
    bad: [[1, 'spec.it: Invalid value: 1: spec.it in body should be greater than or equal to 2']],
  },
  'minimum, exclusive': {
    constraint: { minimum: 2, exclusiveMinimum: true },
    good: [2.1],
    bad: [[2, 'spec.it: Invalid value: 2: spec.it in body should be greater than 2']],
  },
  maximum: {
    constraint: { maximum: 2 },
    good: [2, -5n],
    bad: [[2.5, 'spec.it: Invalid value: 2.5: spec.it in body should be less than or equal to 2']],
  },
  'maximum, exclusive': {
    constraint: { maximum: 2, exclusiveMaximum: true },
    good: [1.9],
    bad: [[2, 'spec.it: Invalid value: 2: spec.it in body should be less than 2']],
  },
  multipleOf: {
    constraint: { multipleOf: 0.5 },
    good: [1, 1.5, 0],
    bad: [[1.2, 'spec.it: Invalid value: 1.2: spec.it in body should be a multiple of 0.5']],
  },
  'multiples of decimal fractions': {
    constraint: { multipleOf: 0.1 },
    good: [0.3, 0.7, -0.7, 12],
    bad: [[0.35, 'spec.it: Invalid value: 0.35: spec.it in body should be a multiple of 0.1']],
  },
  'multiples of integers': {
    constraint: { multipleOf: 3 },
    good: [-9, 2147483649, 2n ** 60n - 1n],
    bad: [
      [2147483648, 'spec.it: Invalid value: 2147483648: spec.it in body should be a multiple of 3'],
      [1e20, 'spec.it: Invalid value: 1e+20: spec.it in body should be a multiple of 3'],
      [1, 'spec.it: Invalid value: 1: spec.it in body should be a multiple of 3'],
      [2n ** 60n, 'spec.it: Invalid value: 1152921504606846976: spec.it in body should be a multiple of 3'],
    ],
  },
  'one of length and pattern is told, before the enum': {
    constraint: { maxLength: 2, pattern: '^a', enum: ['ab', 'a'] },
    good: ['ab'],
    bad: [
      [
        'bcd',
        'spec.it: Too long: may not be more than 2 bytes',
        'spec.it: Unsupported value: "bcd": supported values: "ab", "a"',
      ],
    ],
  },
  'values as Go shows them': {
    constraint: { enum: [1] },
    good: [1],
    bad: [
      [
        { b: [null, 'x'], a: 1 },
        'spec.it: Unsupported value: map[string]interface {}{"a":1, "b":[]interface {}{interface {}(nil), "x"}}: supported values: "1"',
      ],
      [1234567.5, 'spec.it: Unsupported value: 1.2345675e+06: supported values: "1"'],
      [0.00001, 'spec.it: Unsupported value: 1e-05: supported values: "1"'],
    ],
  },
  'lengths in code points': {
    constraint: { minLength: 2, maxLength: 3 },
    good: ['ab', '🚀🚀🚀', 1],
    bad: [
      ['🚀', 'spec.it: Invalid value: "🚀": spec.it in body should be at least 2 chars long'],
      ['abcd', 'spec.it: Too long: may not be more than 3 bytes'],
    ],
  },
  'a pattern is searched for': {
    constraint: { pattern: 'b+' },
    good: ['abc', 5],
    bad: [['ac', 'spec.it: Invalid value: "ac": spec.it in body should match \'b+\'']],
  },
  'a pattern with anchors': {
    constraint: { pattern: '^b+$' },
    good: ['bb'],
    bad: [['abb', 'spec.it: Invalid value: "abb": spec.it in body should match \'^b+$\'']],
  },
  format: {
    constraint: { format: 'date-time' },
    good: ['2024-01-02T03:04:05Z', 5],
    bad: [['now', 'spec.it: Invalid value: "now": spec.it in body must be of type date-time: "now"']],
  },
  'a format that nobody knows': { constraint: { format: 'no-such' }, good: ['x'], bad: [] },
  enum: {
    constraint: { enum: ['a', 1, { x: 1, y: [2] }, null] },
    good: ['a', 1, 1n, { y: [2], x: 1 }],
    bad: [['b', 'spec.it: Unsupported value: "b": supported values: "a", "1", "{\\"x\\":1,\\"y\\":[2]}", "null"']],
  },
  minItems: {
    constraint: { minItems: 2 },
    good: [[1, 2], 'x'],
    bad: [[[1], 'spec.it: Invalid value: 1: spec.it in body should have at least 2 items']],
  },
  maxItems: {
    constraint: { maxItems: 1 },
    good: [[1]],
    bad: [[[1, 2], 'spec.it: Too many: 2: must have at most 1 items']],
  },
  uniqueItems: {
    constraint: { uniqueItems: true },
    good: [[1, 2, '1']],
    bad: [
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        'spec.it: Invalid value: "": spec.it in body shouldn\'t contain duplicates',
      ],
    ],
  },
  items: {
    constraint: { items: { minimum: 1 } },
    good: [[1, 2]],
    bad: [[[1, 0], 'spec.it[1]: Invalid value: 0: spec.it[1] in body should be greater than or equal to 1']],
  },
  minProperties: {
    constraint: { minProperties: 1, required: ['a'] },
    good: [{ a: 1 }],
    bad: [
      [{}, 'spec.it: Invalid value: 0: spec.it in body should have at least 1 properties', 'spec.it.a: Required value'],
    ],
  },
  maxProperties: {
    constraint: { maxProperties: 1 },
    good: [{ a: 1 }],
    bad: [[{ a: 1, b: 2 }, 'spec.it: Too many: 2: must have at most 1 items']],
  },
  required: {
    constraint: { required: ['a', 'constructor'] },
    good: [{ a: '', constructor: null }],
    bad: [[{ b: 1 }, 'spec.it.a: Required value', 'spec.it.constructor: Required value']],
  },
  'properties and others': {
    constraint: { properties: { a: { minimum: 1 } }, additionalProperties: { maxLength: 1 } },
    good: [{ a: 1, b: 'x' }],
    bad: [
      [
        { a: 0, b: 'xy' },
        'spec.it.a: Invalid value: 0: spec.it.a in body should be greater than or equal to 1',
        'spec.it.b: Too long: may not be more than 1 bytes',
      ],
    ],
  },
  oneOf: {
    constraint: { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    good: [{ a: 1 }, { b: 1 }],
    bad: [
      [
        {},
        'spec: Invalid value: "": "spec.it" must validate one and only one schema (oneOf). Found none valid',
        'spec.it.a: Required value',
      ],
      [
        { a: 1, b: 1 },
        'spec: Invalid value: "": "spec.it" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
  },
  anyOf: {
    constraint: { anyOf: [{ minimum: 10 }, { maximum: 1 }] },
    good: [11, 0],
    bad: [
      [
        5,
        'spec: Invalid value: "": "spec.it" must validate at least one schema (anyOf)',
        'spec.it: Invalid value: 5: spec.it in body should be greater than or equal to 10',
      ],
    ],
  },
  allOf: {
    constraint: { allOf: [{ minimum: 2 }, { maximum: 3 }] },
    good: [2, 3],
    bad: [
      [
        4,
        'spec.it: Invalid value: 4: spec.it in body should be less than or equal to 3',
        'spec: Invalid value: "": "spec.it" must validate all the schemas (allOf)',
      ],
    ],
  },
  not: {
    constraint: { not: { required: ['a'] } },
    good: [{ b: 1 }],
    bad: [[{ a: 1 }, 'spec: Invalid value: "": "spec.it" must not validate the schema (not)']],
  },
  'a constraint of nothing': { constraint: {}, good: [1, 'x', null, {}], bad: [] },
};

for (const [name, { constraint, good, bad }] of Object.entries(rows)) {
  test(name, () => {
    for (const value of good) assert.deepEqual(texts(constraint, value), [], JSON.stringify(String(value)));
    for (const [value, ...errors] of bad) assert.deepEqual(texts(constraint, value), errors);
  });
}

test('a pattern with catastrophic backtracking', () => {
  assert.deepEqual(texts({ pattern: '^(a+)+$' }, `${'a'.repeat(20_000)}!`).length, 1);
});

test('findings stop at their limit', () => {
  const many = Array.from({ length: limits.findingsMax * 3 }, () => 0);
  assert.equal(texts({ items: { minimum: 1 } }, many).length, limits.findingsMax);
});

test('a constraint applies in addition to the checks of its schema', () => {
  const schema: Schema = { type: 'string', enum: ['a'], constraint: { maxLength: 1 } };
  assert.deepEqual(
    validate(schema, 'long').map(({ type }) => type),
    ['FieldValueNotSupported', 'FieldValueTooLong'],
  );
  assert.equal(schemaOf({ schema, required: false, presence: 'explicit' }), schema);
});

test('patterns do a bounded amount of work for an object', () => {
  const schema: Schema = {
    type: 'list',
    listType: 'atomic',
    items: { type: 'string', constraint: { pattern: '(a?){1000}b' } },
  };
  const long = 'a'.repeat(limits.patternStepsMax / 8_000);
  const found = (value: unknown): readonly string[] =>
    validate(schema, value, 'it').map(({ field, detail }) => `${field}: ${detail}`);
  assert.deepEqual(found(['ab']), []);
  assert.deepEqual(found(['ab', long, 'b', long, 'ab']), [
    "it[1]: it[1] in body should match '(a?){1000}b'",
    "it[3]: it[3] in body is too long to be matched with '(a?){1000}b'",
    "it[4]: it[4] in body is too long to be matched with '(a?){1000}b'",
  ]);
  assert.deepEqual(found(['ab']), [], 'the next object has an amount of its own');
});
