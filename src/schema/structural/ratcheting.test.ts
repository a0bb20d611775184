import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate } from '../validate.ts';
import { errorText, schemaFrom, withSpec } from './structural-fixture.ts';

/** Updates of objects that are invalid already: what is unchanged may stay (KEP-4008). */

interface Row {
  readonly schema: unknown;
  readonly old: unknown;
  readonly value: unknown;
  /** Fields in error, in order. */
  readonly errors: readonly string[];
}

const short = { type: 'string', maxLength: 1 };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const listOf = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const mapList = (items: object) =>
  listOf(items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] });
const keyed = object({ k: { type: 'string' }, v: short }, { required: ['k'] });
const set = listOf({ type: 'string' }, { 'x-kubernetes-list-type': 'set' });
const both = object({ a: short, b: short });

const rows: Readonly<Record<string, Row>> = {
  'an unchanged field': { schema: both, old: { a: 'xx' }, value: { a: 'xx', b: 'y' }, errors: [] },
  'a changed field': { schema: both, old: { a: 'xx' }, value: { a: 'yy' }, errors: ['spec.a'] },
  'a new field': { schema: both, old: { a: 'xx' }, value: { a: 'xx', b: 'yy' }, errors: ['spec.b'] },
  'an unchanged type': { schema: both, old: { a: 1 }, value: { a: 1, b: 'y' }, errors: [] },
  'an object without a required field, unchanged': {
    schema: object({ o: object({ a: short }, { required: ['b'] }), n: short }),
    old: { o: { a: 'x' } },
    value: { o: { a: 'x' }, n: 'y' },
    errors: [],
  },
  'an object without a required field, changed elsewhere': {
    schema: object({ o: object({ a: short }, { required: ['b'] }) }),
    old: { o: { a: 'x' } },
    value: { o: { a: 'y' } },
    errors: ['spec.o.b'],
  },
  'a key of a map': {
    schema: { type: 'object', additionalProperties: short },
    old: { a: 'xx' },
    value: { a: 'xx', b: 'yy' },
    errors: ['spec.b'],
  },
  'an item of a list map, moved': {
    schema: mapList(keyed),
    old: [
      { k: '1', v: 'xx' },
      { k: '2', v: 'y' },
    ],
    value: [
      { k: '2', v: 'y' },
      { k: '1', v: 'xx' },
      { k: '3', v: 'zz' },
    ],
    errors: ['spec[2].v'],
  },
  'a field of an item of a list map': {
    schema: mapList(object({ k: { type: 'string' }, v: short, w: short }, { required: ['k'] })),
    old: [{ k: '1', v: 'xx', w: 'a' }],
    value: [{ k: '1', v: 'xx', w: 'b' }],
    errors: [],
  },
  'an item of an atomic list': {
    schema: listOf(short),
    old: ['xx'],
    value: ['xx', 'y'],
    errors: ['spec[0]'],
  },
  'an item of a set': {
    schema: listOf(short, { 'x-kubernetes-list-type': 'set' }),
    old: ['xx'],
    value: ['xx', 'y'],
    errors: ['spec[0]'],
  },
  'an unchanged atomic list': {
    schema: object({ l: listOf(short), n: short }),
    old: { l: ['xx'] },
    value: { l: ['xx'], n: 'y' },
    errors: [],
  },
  'a field within an alternative': {
    schema: object({ a: short, b: short }, { allOf: [{ properties: { a: { maxLength: 1 } } }] }),
    old: { a: 'xx' },
    value: { a: 'xx', b: 'y' },
    errors: [],
  },
  'an alternative that an unchanged field does not fail': {
    schema: object({ a: { type: 'integer' }, b: short }, { anyOf: [{ properties: { a: { minimum: 5 } } }] }),
    old: { a: 1 },
    value: { a: 1, b: 'y' },
    errors: [],
  },
  'an item of a list map within an alternative': {
    schema: {
      ...mapList(object({ k: { type: 'string' }, v: { type: 'string' } }, { required: ['k'] })),
      allOf: [{ items: { properties: { v: { maxLength: 1 } } } }],
    },
    old: [{ k: '1', v: 'xx' }],
    value: [
      { k: '2', v: 'yy' },
      { k: '1', v: 'xx' },
    ],
    errors: ['spec[0].v', '<nil>'],
  },
  'new duplicates': { schema: set, old: ['a'], value: ['a', 'a'], errors: ['spec[1]'] },
  'duplicates where there were some': {
    schema: object({ s: set, t: set }),
    old: { s: ['a', 'a'] },
    value: { s: ['a', 'a'], t: ['b', 'b'] },
    errors: [],
  },
  'unchanged duplicates that nothing else excuses': {
    schema: object({ s: set, n: short }),
    old: { s: ['a', 'a'], n: 'x' },
    value: { s: ['a', 'a'], n: 'xx' },
    errors: ['spec.n'],
  },
  'an embedded object that is none': {
    schema: object({
      o: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { a: short } },
      n: short,
    }),
    old: { o: { a: 'xx' }, n: 'x' },
    value: { o: { a: 'xx' }, n: 'y' },
    errors: ['spec.o.apiVersion', 'spec.o.kind'],
  },
  'an object that was of another type': { schema: both, old: ['x'], value: { a: 'xx' }, errors: ['spec.a'] },
  'any value, unchanged': {
    schema: { 'x-kubernetes-preserve-unknown-fields': true, properties: { a: short, b: short } },
    old: { a: 'xx' },
    value: { a: 'xx', b: 'yy' },
    errors: ['spec.b'],
  },
};

test('names that a later schema does not allow', () => {
  const name = { type: 'string', pattern: '^a' };
  const metadata = { type: 'object', properties: { name } };
  const schema = schemaFrom({ type: 'object', properties: { metadata, spec: short } });
  const old = { metadata: { name: 'x', resourceVersion: '1' }, spec: 'a' };
  const renamed = { metadata: { name: 'y' }, spec: 'a' };
  const touched = { metadata: { name: 'x', resourceVersion: '2' }, spec: 'b' };
  const error = 'metadata.name: Invalid value: "y": metadata.name in body should match \'^a\'';
  assert.deepEqual(validate(schema, renamed, '', { old }).map(errorText), [error]);
  assert.deepEqual(validate(schema, touched, '', { old }), []);
  assert.equal(validate(schema, touched).length, 1);
});

for (const [name, { schema: spec, old, value, errors }] of Object.entries(rows)) {
  test(name, () => {
    const schema = schemaFrom(withSpec(spec));
    const check = (before?: unknown) =>
      validate(schema, { spec: value }, '', { old: before }).map(({ field }) => field);
    assert.deepEqual(check({ spec: old }), errors);
    assert.ok(check().length >= errors.length, 'a new object has all errors');
    const unexcused = validate(schema, { spec: value }, '', { old: { spec: value } }).map(errorText);
    const isNeverExcused = name === 'an embedded object that is none';
    assert.equal(unexcused.length > 0, isNeverExcused, 'an unchanged object has none');
  });
}
