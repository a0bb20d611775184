import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeValue } from './decode.ts';
import { keepNulls } from './kept-nulls.ts';
import { string, struct } from './schema.ts';
import { schemaFrom, withSpec } from './structural/structural-fixture.ts';

const text = { type: 'string' };
const schema = schemaFrom(
  withSpec({
    type: 'object',
    properties: {
      text,
      nullable: { ...text, nullable: true },
      initial: { ...text, default: 'a' },
      object: { type: 'object', properties: { text } },
      map: { type: 'object', additionalProperties: text },
      list: { type: 'array', items: { type: 'object', properties: { text } } },
      any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { text } },
      loose: { 'x-kubernetes-preserve-unknown-fields': true, properties: { text }, items: text },
    },
  }),
);

const rows: readonly (readonly [what: string, sent: object, kept: object])[] = [
  ['a field', { text: null }, { text: null }],
  ['a field that may be null', { nullable: null }, { nullable: null }],
  ['a field with a default', { initial: null }, {}],
  ['an object', { object: null, map: null, list: null }, { object: null, map: null, list: null }],
  ['a field within', { object: { text: null } }, { object: { text: null } }],
  ['a value of a map', { map: { a: null, b: 'b' } }, { map: { a: null, b: 'b' } }],
  ['a field of an item', { list: [{ text: 'a' }, { text: null }] }, { list: [{ text: 'a' }, { text: null }] }],
  ['a declared field among others', { any: { text: null, a: null } }, { any: { text: null, a: null } }],
  ['a field of a value of any type', { loose: { text: null } }, { loose: { text: null } }],
  ['an unknown field', { unknown: null }, {}],
  [
    'a name like that of a prototype',
    { map: JSON.parse('{"__proto__": null}') },
    { map: JSON.parse('{"__proto__": null}') },
  ],
];

for (const [what, sent, kept] of rows) {
  test(`nulls that are kept: ${what}`, () => {
    const { value } = decodeValue(schema, { spec: sent });
    keepNulls(schema, { spec: sent }, value);
    assert.deepEqual(Object(value).spec, kept);
  });
}

test('metadata and built-in kinds are as they are decoded', () => {
  const builtIn = struct('test.Kind', '', { text: { schema: string(), required: false, presence: 'explicit' } });
  for (const [of, sent] of [
    [builtIn, { text: null }],
    [schema, { metadata: { name: null } }],
  ] as const) {
    const { value } = decodeValue(of, sent);
    const before = structuredClone(value);
    keepNulls(of, sent, value);
    assert.deepEqual(value, before);
  }
});
