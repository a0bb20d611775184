import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Definition } from './apiextensions/custom-resource-definition.ts';
import { customKinds } from './custom/custom-kinds.ts';
import { DefinedSchemas } from './custom/defined-schemas.ts';
import { kindData } from './kind-data.ts';
import { hasSameSchema, outlineOf } from './lazy-schema.ts';

function definitionWith(properties: unknown): Definition {
  const versions = ['v1', 'v2'].map((name) => ({
    ...{ name, served: true, storage: name === 'v1' },
    schema: { openAPIV3Schema: { type: 'object', properties } },
  }));
  return { spec: { group: 'example.com', names: { kind: 'Widget' }, versions } } as unknown as Definition;
}

test('schemas of a definition are built when one is needed, and all at once', async () => {
  let reads = 0;
  const definition = definitionWith({ a: { type: 'string' } });
  const schemas = new DefinedSchemas(() => {
    reads++;
    return definition;
  });
  const made = () => customKinds(definition, { schemas, pause: () => undefined });
  const [one, two] = (await made()).kinds;
  const [again] = (await made()).kinds;
  assert.ok(one && two && again);
  assert.ok(hasSameSchema(one, again));
  assert.deepEqual(Object.keys(outlineOf(one).fields), ['apiVersion', 'kind', 'metadata']);
  assert.equal(reads, 0);
  assert.deepEqual(Object.keys(one.schema.fields), ['apiVersion', 'kind', 'metadata', 'a']);
  assert.equal(one.schema.fields['a'], two.schema.fields['a'], 'equal parts are one');
  assert.ok(!hasSameSchema(one, two));
  assert.equal(kindData(two)?.kind.schema, two.schema);
  assert.equal(reads, 1);
});

test('schemas are read where their definition is now', () => {
  const [before, after] = [definitionWith({ a: { type: 'string' } }), definitionWith({ b: { type: 'string' } })];
  const schemas = new DefinedSchemas(() => before);
  schemas.readFrom(() => after);
  assert.ok('b' in schemas.of('v1').value.fields);
  schemas.readFrom(() => before);
  assert.ok('b' in schemas.of('v2').value.fields, 'what is built stays');
});

test('a schema that cannot be read keeps all fields', () => {
  const schemas = new DefinedSchemas(() => definitionWith({ a: {} }));
  assert.equal(schemas.of('v1').value.additional, 'preserve');
  assert.equal(schemas.of('gone').value.additional, 'preserve');
});
