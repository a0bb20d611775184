import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../base/time/clock.ts';
import { errorText, objectMeta, schemaFrom, withSpec } from '../structural/structural-fixture.ts';
import { buildStructuralSchema } from '../structural/structural-schema.ts';
import { validateRules } from './validate-rules.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const listOf = (items: object) => ({ type: 'array', items });

describe('rules that are not evaluated', () => {
  const preserved = { 'x-kubernetes-preserve-unknown-fields': true };
  const never = { 'x-kubernetes-validations': [{ rule: 'false' }] };
  /** Not all of these are accepted any more; they may be stored. */
  const rows: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
    'an empty one': [{ ...text, 'x-kubernetes-validations': [{ rule: ' ' }] }, 'x'],
    'of a value of any type': [object({ x: { ...preserved, ...never } }), { x: 1 }],
    'of a list of such values': [object({ x: { ...listOf(preserved), ...never } }), { x: [] }],
    'of such a value whose name is not escaped': [
      object({ 'x y': { ...listOf(preserved), ...never } }),
      { 'x y': [1] },
    ],
    'of null': [object({ x: { ...text, ...never, nullable: true } }), { x: null }],
    'of what is not there': [object({ x: { ...text, ...never } }), {}],
    'of undeclared fields, for a declared one': [
      object({ x: integer }, { additionalProperties: { ...integer, ...never } }),
      { x: 1 },
    ],
  };
  for (const [name, [spec, value]] of Object.entries(rows)) {
    test(name, async () => {
      const schema = buildStructuralSchema(withSpec(spec), { objectMeta });
      const errors = await validateRules(schema, { spec: value }, { errors: [], clock: systemClock });
      assert.deepEqual(errors.map(errorText), []);
    });
  }
});

test('a null that its schema does not allow, and that an update left as it was', async () => {
  const schema = schemaFrom(
    withSpec({ ...object({ a: text, b: text }), 'x-kubernetes-validations': [{ rule: "self.a == 'x'" }] }),
  );
  const errors = await validateRules(schema, { spec: { a: null, b: 'y' } }, { errors: [], clock: systemClock });
  assert.deepEqual(errors.map(errorText), [
    `spec: Invalid value: "object": invalid data, got null for schema with nullable=false evaluating rule: self.a == 'x'`,
  ]);
});
