import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../base/time/clock.ts';
import { errorText, schemaFrom, withSpec } from '../structural/structural-fixture.ts';
import { validateRules } from './validate-rules.ts';

const text = { type: 'string' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const listOf = (items: object) => ({ type: 'array', items });
const mapOf = (additionalProperties: object) => ({ type: 'object', additionalProperties });
const withRule = (schema: object, rule: string) => ({ ...schema, 'x-kubernetes-validations': [{ rule }] });

async function errorsOf(json: unknown, value: unknown): Promise<readonly string[]> {
  const errors = await validateRules(schemaFrom(json), value, { errors: [], clock: systemClock });
  return errors.map(errorText);
}

const specErrors = (spec: unknown, value: unknown): Promise<readonly string[]> =>
  errorsOf(withSpec(spec), { spec: value });

describe('what rules do not see', () => {
  const undefinedField = (source: string, name: string, column: number) =>
    `spec: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:${column}: undefined field '${name}'\n | ${source}\n | ${'.'.repeat(column - 1)}^`;
  const preserved = { 'x-kubernetes-preserve-unknown-fields': true };
  const rows: Readonly<Record<string, readonly [schema: object, rule: string, name: string, column: number]>> = {
    'a value of any type': [object({ x: preserved }), 'self.x == 1', 'x', 5],
    'a list of such values': [object({ x: listOf(preserved) }), 'size(self.x) == 1', 'x', 10],
    'a map of such values': [object({ x: mapOf(preserved) }), 'size(self.x) == 1', 'x', 10],
    'a field that is not declared': [object({ x: text }, preserved), 'has(self.y)', 'y', 9],
    'a name that is not escaped': [object({ if: text }), 'has(self.if)', 'if', 9],
    'metadata other than names': [
      object({ x: text }, { 'x-kubernetes-embedded-resource': true }),
      'has(self.metadata.labels)',
      'labels',
      18,
    ],
  };
  for (const [name, [schema, rule, field, column]] of Object.entries(rows)) {
    test(name, async () => {
      const value = { apiVersion: 'v1', kind: 'X' };
      assert.deepEqual(await specErrors(withRule(schema, rule), value), [undefinedField(rule, field, column)]);
    });
  }

  test('the root shows names and type only', async () => {
    const schema = withRule(object({ spec: object({}) }), "self.kind == 'A' && self.metadata.name == 'n'");
    assert.deepEqual(await errorsOf(schema, { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'n' } }), []);
    const generated = withRule(object({}), "self.metadata.generateName == 'n-'");
    assert.deepEqual(await errorsOf(generated, { metadata: { generateName: 'n-' } }), []);
    const hidden = withRule(object({}), 'has(self.metadata.annotations)');
    const [error = ''] = await errorsOf(hidden, { metadata: {} });
    assert.match(error, /^<nil>: Invalid value: "object": rule compile error: .*undefined field 'annotations'/);
  });
});
