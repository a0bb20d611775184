import assert from 'node:assert/strict';
import { it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { customKinds } from '../custom/custom-kinds.ts';
import { DefinedSchemas } from '../custom/defined-schemas.ts';
import type { Definition } from './custom-resource-definition.ts';
import { definitionOf, type Part, schemaOf, stored, versionOf } from './definition-fixture.ts';

const kindsOf = (definition: unknown) =>
  allAtOnce(customKinds(definition as Definition, new DefinedSchemas('one', () => Buffer.from('{}'))));

const condition = (...versions: readonly Part[]) => {
  const { kinds, nonStructural } = kindsOf(stored(definitionOf({ versions })));
  return { versions: kinds.map(({ version }) => version), nonStructural };
};
const other = (schema: Part): Part => versionOf({ name: 'v2', storage: false, schema });
const type = 'NonStructuralSchema';
const missing = 'must not be empty for specified object fields';

it('definitions whose schemas are structural have no condition', () => {
  assert.deepEqual(condition(versionOf(), other(schemaOf())), {
    versions: ['v1', 'v2'],
    nonStructural: undefined,
  });
});

it('the versions that are not served, and why, are in the condition', () => {
  const message = `spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: ${missing}`;
  assert.deepEqual(condition(versionOf(), other(schemaOf({ a: {} }))), {
    versions: ['v1'],
    nonStructural: { type, status: 'True', reason: 'Violations', message },
  });
});

it('several errors are in the order of the definition', () => {
  const at = (index: number): string =>
    `spec.versions[${index}].schema.openAPIV3Schema.properties[a].type: Required value: ${missing}`;
  const wrong = schemaOf({ a: {} });
  const first = versionOf({ name: 'v1', storage: false, schema: wrong });
  const { nonStructural } = condition(first, versionOf({ name: 'v2', schema: wrong }));
  assert.equal(nonStructural?.message, `[${at(0)}, ${at(1)}]`);
});

it('unknown fields that are preserved by the definition', () => {
  const { nonStructural } = kindsOf(stored(definitionOf({ preserveUnknownFields: true })));
  assert.equal(nonStructural?.message, 'spec.preserveUnknownFields: Invalid value: true: must be false');
});

it('a schema that cannot be looked at', () => {
  const { nonStructural } = condition(versionOf(), other(schemaOf({ a: { $ref: '#/x' } })));
  assert.deepEqual([nonStructural?.status, nonStructural?.reason], ['Unknown', 'StructuralError']);
});

it('the condition is bounded', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 2 * limits.definitionListMax }, (_, index) => [`f${index}`, {}]),
  );
  const { nonStructural } = condition(versionOf({ schema: schemaOf(properties) }));
  assert.equal(nonStructural?.message?.split(missing).length, limits.definitionListMax + 1);
});

it('large definitions can be read in several turns: there is a pause now and then', () => {
  const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${at}`, { type: 'string' }]));
  const definition = stored(definitionOf({ versions: [versionOf(), other(schemaOf(properties))] })) as Definition;
  const pauses = customKinds(definition, new DefinedSchemas('one', () => Buffer.from('{}'))).reduce(
    (count) => count + 1,
    0,
  );
  assert.ok(pauses > 10, `${pauses} pauses`);
});
