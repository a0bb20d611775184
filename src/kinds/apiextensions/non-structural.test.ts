import assert from 'node:assert/strict';
import { it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { customKinds } from '../custom/custom-kinds.ts';
import { DefinedSchemas } from '../custom/defined-schemas.ts';
import type { Definition } from './custom-resource-definition.ts';
import { definitionOf, type Part, schemaOf, stored, versionOf } from './definition-fixture.ts';

const condition = async (...versions: readonly Part[]) => {
  const { kinds, nonStructural } = await customKinds(stored(definitionOf({ versions })) as Definition, {
    schemas: new DefinedSchemas(() => ({ spec: {} })),
    pause: () => undefined,
  });
  return { versions: kinds.map(({ version }) => version), nonStructural };
};
const other = (schema: Part): Part => versionOf({ name: 'v2', storage: false, schema });
const type = 'NonStructuralSchema';
const missing = 'must not be empty for specified object fields';

it('definitions whose schemas are structural have no condition', async () => {
  assert.deepEqual(await condition(versionOf(), other(schemaOf())), {
    versions: ['v1', 'v2'],
    nonStructural: undefined,
  });
});

it('the versions that are not served, and why, are in the condition', async () => {
  const message = `spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: ${missing}`;
  assert.deepEqual(await condition(versionOf(), other(schemaOf({ a: {} }))), {
    versions: ['v1'],
    nonStructural: { type, status: 'True', reason: 'Violations', message },
  });
});

it('several errors are in the order of the definition', async () => {
  const at = (index: number): string =>
    `spec.versions[${index}].schema.openAPIV3Schema.properties[a].type: Required value: ${missing}`;
  const wrong = schemaOf({ a: {} });
  const first = versionOf({ name: 'v1', storage: false, schema: wrong });
  const { nonStructural } = await condition(first, versionOf({ name: 'v2', schema: wrong }));
  assert.equal(nonStructural?.message, `[${at(0)}, ${at(1)}]`);
});

it('unknown fields that are preserved by the definition', async () => {
  const definition = stored(definitionOf({ preserveUnknownFields: true })) as Definition;
  const { nonStructural } = await customKinds(definition, {
    schemas: new DefinedSchemas(() => ({ spec: {} })),
    pause: () => undefined,
  });
  assert.equal(nonStructural?.message, 'spec.preserveUnknownFields: Invalid value: true: must be false');
});

it('a schema that cannot be looked at', async () => {
  const { nonStructural } = await condition(versionOf(), other(schemaOf({ a: { $ref: '#/x' } })));
  assert.deepEqual([nonStructural?.status, nonStructural?.reason], ['Unknown', 'StructuralError']);
});

it('the condition is bounded', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 2 * limits.definitionListMax }, (_, index) => [`f${index}`, {}]),
  );
  const { nonStructural } = await condition(versionOf({ schema: schemaOf(properties) }));
  assert.equal(nonStructural?.message?.split(missing).length, limits.definitionListMax + 1);
});

it('large definitions can be read in several turns: there is a pause before each schema and the end', async () => {
  let pauses = 0;
  const count = (): undefined => void pauses++;
  await customKinds(stored(definitionOf({ versions: [versionOf(), other(schemaOf())] })) as Definition, {
    schemas: new DefinedSchemas(() => ({ spec: {} })),
    pause: count,
  });
  assert.equal(pauses, 3);
});
