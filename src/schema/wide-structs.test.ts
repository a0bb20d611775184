import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeValue } from './decode.ts';
import { applyDefaults } from './defaults.ts';
import { LazyFields } from './lazy-fields.ts';
import type { Field, StructSchema } from './schema.ts';
import { normalise } from './structural/normalise.ts';
import { validate } from './validate.ts';

const field = (parts: Partial<Field> = {}): Field => ({
  ...{ schema: { type: 'string', structural: true }, required: false, presence: 'explicit' },
  ...parts,
});

const fields: Readonly<Record<string, Field>> = {
  first: field(),
  constructor: field(),
  ['__proto__']: field(),
  nullable: field({ schema: { type: 'string', structural: true, nullable: true } }),
  defaulted: field({ default: 'x' }),
  short: field({ schema: { type: 'string', structural: true, constraint: { maxLength: 1 } } }),
  written: field({ presence: 'always' }),
  parts: field({
    schema: { type: 'list', items: { type: 'integer', format: 'int64', structural: true }, listType: 'atomic' },
  }),
};

const structOf = (all: StructSchema['fields'], additional?: StructSchema['additional']): StructSchema => ({
  ...{ type: 'struct', name: '', structType: 'granular', structural: true },
  fields: all,
  ...(additional && { additional }),
});

/** So many fields more that only those are compiled that a value has. */
function widened(of: StructSchema): StructSchema {
  const more = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`unused${at}`, field()]));
  return structOf({ ...of.fields, ...more }, of.additional);
}

const values: readonly unknown[] = [
  {},
  { written: 'b', first: 'a' },
  JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}'),
  { nullable: null, first: null, unknown: null },
  { short: 'long', first: 1, parts: ['a', 2n ** 62n], unknown: { deep: 1 } },
  { defaulted: 'y', other: 'z', first: ['a'] },
  'no object',
];

const texts = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

describe('structs with very many fields', () => {
  for (const additional of [undefined, 'preserve', { type: 'string', structural: true }] as const) {
    const narrow = structOf(fields, additional);
    const wide = widened(narrow);
    for (const value of values) {
      it(`are read as others are, additional fields ${JSON.stringify(additional)}: ${String(JSON.stringify(value, texts))}`, () => {
        assert.deepEqual(outcome(wide, value), outcome(narrow, value));
      });
    }
  }
});

function outcome(schema: StructSchema, value: unknown) {
  const decoded = decodeValue(schema, value);
  const order = Object.keys(Object(decoded.value));
  applyDefaults(schema, decoded.value);
  return {
    decoded,
    order,
    errors: validate(schema, decoded.value),
    normal: normalise(schema, value),
  };
}

describe('lazy fields', () => {
  it('are compiled once, when they are asked for', () => {
    const compiled: string[] = [];
    const lazy = new LazyFields(fields, (_, name) => {
      compiled.push(name);
      return name === 'first' ? undefined : name;
    });
    for (const name of ['first', 'short', 'first', 'short', 'toString', 'absent', 'absent']) lazy.get(name);
    assert.deepEqual(compiled, ['first', 'short']);
    assert.deepEqual([lazy.get('first'), lazy.get('short'), lazy.get('toString')], [undefined, 'short', undefined]);
  });
});
