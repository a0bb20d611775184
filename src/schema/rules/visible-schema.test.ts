import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../base/time/clock.ts';
import type { FieldError } from '../../meta/field-error.ts';
import {
  errorText,
  objectMeta,
  path,
  schemaFrom,
  validateMetadata,
  withSpec,
} from '../structural/structural-fixture.ts';
import { ruleErrors } from './rule-errors.ts';
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
    'a field that is not declared': [object({ x: text }, preserved), 'has(self.y)', 'y', 4],
    'a name that is not escaped': [object({ if: text }), 'has(self.if)', 'if', 4],
    'metadata other than names': [
      object({ x: text }, { 'x-kubernetes-embedded-resource': true }),
      'has(self.metadata.labels)',
      'labels',
      4,
    ],
  };
  for (const [name, [schema, rule, field, column]] of Object.entries(rows)) {
    test(name, async () => {
      const value = { apiVersion: 'v1', kind: 'X' };
      assert.deepEqual(await specErrors(withRule(schema, rule), value), [undefinedField(rule, field, column)]);
    });
  }

  const startsWithA = withRule(text, "self.startsWith('a')");
  const broken = (path: string): string => `${path}: Invalid value: "string": failed rule: self.startsWith('a')`;
  const someObject = { apiVersion: 'b/v1', kind: 'B', metadata: { name: 'b', labels: { l: 'b' } } };
  const placed: Readonly<Record<string, readonly [properties: object, ...errors: string[]]>> = {
    'a name': [{ metadata: object({ name: startsWithA }) }, broken('metadata.name')],
    'a prefix of names, which is not there': [{ metadata: object({ generateName: startsWithA }) }],
    'a kind': [{ kind: startsWithA }, broken('kind')],
    'an apiVersion': [{ apiVersion: startsWithA }, broken('apiVersion')],
  };
  for (const [what, [properties, ...errors]] of Object.entries(placed)) {
    test(`rules of ${what} see a text`, async () => {
      assert.deepEqual(await errorsOf(object(properties), someObject), errors);
      const embedded = object(properties, { 'x-kubernetes-embedded-resource': true });
      assert.deepEqual(
        await specErrors(embedded, someObject),
        errors.map((error) => `spec.${error}`),
      );
      const json = withSpec(embedded);
      assert.deepEqual(await ruleErrors(json, { path, objectMeta, validateMetadata }), []);
    });
  }

  test('rules of the metadata of an embedded object see names', async () => {
    const embedded = (rule: string) =>
      object({ metadata: withRule(object({ name: text }), rule) }, { 'x-kubernetes-embedded-resource': true });
    assert.deepEqual(await specErrors(embedded("self.name.startsWith('a')"), someObject), [
      `spec.metadata: Invalid value: "object": failed rule: self.name.startsWith('a')`,
    ]);
    const [error] = await ruleErrors(withSpec(embedded('has(self.labels)')), { path, objectMeta, validateMetadata });
    assert.match(error?.detail ?? '', /undefined field 'labels'/);
  });

  test('rules of a kind are not passed over in updates, others are', async () => {
    const json = object({ kind: startsWithA, metadata: object({ name: startsWithA }) });
    const passed: string[] = [];
    const onRatcheted = (error: FieldError): number => passed.push(errorText(error));
    const options = { old: someObject, errors: [], clock: systemClock, onRatcheted };
    const errors = await validateRules(schemaFrom(json), someObject, options);
    assert.deepEqual([errors.map(errorText), passed], [[broken('kind')], [broken('metadata.name')]]);
  });

  test('rules of a name are checked when they are written', async () => {
    const json = object({ metadata: object({ name: withRule(text, 'self') }) });
    const [error] = await ruleErrors(json, { path, objectMeta, validateMetadata });
    assert.equal(error?.field, `${path}.properties[metadata].properties[name].x-kubernetes-validations[0].rule`);
  });

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
