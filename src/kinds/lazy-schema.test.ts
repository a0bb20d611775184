import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAtOnce } from '../base/time/in-slices.ts';
import { within } from '../base/waits-fixture.ts';
import type { Definition } from './apiextensions/custom-resource-definition.ts';
import { customKinds } from './custom/custom-kinds.ts';
import { DefinedSchemas } from './custom/defined-schemas.ts';
import { kindData, kindsOfData, restoreKind } from './kind-data.ts';
import { hasSameSchema, outlineOf } from './lazy-schema.ts';

function definitionWith(properties: unknown): Definition {
  const versions = ['v1', 'v2'].map((name) => ({
    ...{ name, served: true, storage: name === 'v1' },
    schema: { openAPIV3Schema: { type: 'object', properties } },
  }));
  return { spec: { group: 'example.com', names: { kind: 'Widget' }, versions } } as unknown as Definition;
}

const encoded = (definition: Definition): Buffer => Buffer.from(JSON.stringify(definition));

test('schemas of a definition are built when one is needed, and all at once', () => {
  let reads = 0;
  const definition = definitionWith({ a: { type: 'string' } });
  const schemas = new DefinedSchemas('one', () => {
    reads++;
    return encoded(definition);
  });
  const made = () => allAtOnce(customKinds(definition, schemas));
  const [one, two] = made().kinds;
  const [again] = made().kinds;
  assert.ok(one && two && again);
  assert.ok(hasSameSchema(one, again));
  assert.deepEqual(Object.keys(outlineOf(one).fields), ['apiVersion', 'kind', 'metadata']);
  assert.equal(reads, 0);
  assert.deepEqual(Object.keys(one.schema.fields), ['apiVersion', 'kind', 'metadata', 'a']);
  assert.equal(one.schema.fields['a'], two.schema.fields['a'], 'equal parts are one');
  assert.ok(!hasSameSchema(one, two));
  assert.deepEqual(kindData(two)?.builtOf?.version, 'v2');
  assert.equal(reads, 1);
});

test('schemas are read where their definition is now', () => {
  const [before, after] = [definitionWith({ a: { type: 'string' } }), definitionWith({ b: { type: 'string' } })];
  const schemas = new DefinedSchemas('one', () => encoded(before));
  schemas.readFrom(() => encoded(after));
  assert.ok('b' in schemas.of('v1').value.fields);
  schemas.readFrom(() => encoded(before));
  assert.ok('b' in schemas.of('v2').value.fields, 'what is built stays');
});

test('a schema that cannot be read keeps all fields', () => {
  const schemas = new DefinedSchemas('one', () => encoded(definitionWith({ a: {} })));
  assert.equal(schemas.of('v1').value.additional, 'preserve');
  assert.equal(schemas.of('gone').value.additional, 'preserve');
});

test('large schemas are built in slices of time, once for all who wait for one of them', async () => {
  const properties = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`f${at}`, { type: 'string' }]));
  const bytes = encoded(definitionWith(properties));
  let [reads, now, turns] = [0, 0, 0];
  const clock = { monotonic: () => now++ };
  const schemas = new DefinedSchemas('one', () => {
    reads++;
    return bytes;
  });
  const waiting = ['v1', 'v2', 'v1'].map((version) => schemas.of(version).ready(clock));
  assert.ok(waiting[0] && waiting.every((each) => each === waiting[0]), 'all wait for the same');
  const built = Promise.resolve(waiting[0]);
  const turn = async (): Promise<void> => {
    if (schemas.isBuilt) return;
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
    await turn();
  };
  await within(Promise.all([built, turn()]), 'the schemas are not built');
  assert.ok(turns > 20, `${turns} turns`);
  assert.equal(reads, 1);
  assert.equal(schemas.of('v2').ready(clock), undefined);
  assert.equal(Object.keys(schemas.of('v2').value.fields).length, 2_003);
});

test('schemas that were built of the same text are one, whatever else their definitions say', () => {
  const definition = definitionWith({ a: { type: 'string' } });
  const [one, two] = [definition, { ...definition, metadata: { name: 'other' } }].map(
    (each) => new DefinedSchemas('one', () => encoded(each as Definition)).of('v1').value,
  );
  assert.equal(one, two);
  const changed = new DefinedSchemas('one', () => encoded(definitionWith({ a: { type: 'integer' } }))).of('v1').value;
  assert.notEqual(changed, one);
});

test('another thread builds the same schemas of the same bytes', () => {
  const bytes = encoded(definitionWith({ a: { type: 'string' } }));
  let reads = 0;
  const schemas = new DefinedSchemas('1', () => {
    reads++;
    return bytes;
  });
  const sent = allAtOnce(customKinds(definitionWith({ a: { type: 'string' } }), schemas)).kinds.map(kindData);
  assert.equal(reads, 0, 'nothing is built to be sent');
  const received = structuredClone(sent);
  const there = new DefinedSchemas('1', () => bytes);
  const kinds = kindsOfData(
    received.map((data) => restoreKind(data ?? assert.fail(), there.of(data?.builtOf?.version ?? ''))),
  );
  assert.deepEqual(
    kinds.map(({ version }) => version),
    ['v1', 'v2'],
  );
  for (const kind of kinds) {
    assert.deepEqual(kind.schema, schemas.of(kind.version).value);
    assert.equal(kind.group, 'example.com');
  }
});

test('schemas that were dropped are built again, of where their definition is then', () => {
  let reads = 0;
  const bytes = encoded(definitionWith({ dropped: { type: 'string', description: 'A text.' } }));
  const schemas = new DefinedSchemas('dropped 1', () => {
    reads++;
    return bytes;
  });
  const schema = schemas.of('v1');
  const kept = schema.value;
  assert.equal(schema.value.fields['dropped']?.description, undefined, 'descriptions are for documents');
  assert.equal(reads, 1);
  assert.ok(schemas.parts > 0);
  schemas.drop();
  assert.ok(!schema.isBuilt);
  assert.equal(schema.value, kept, 'one that somebody has is shared');
  assert.equal(reads, 2);
  schemas.drop();
  assert.match(JSON.stringify(allAtOnce(schema.described()).fields['dropped']), /"description":"A text."/);
  assert.ok(!schema.isBuilt, 'documents build another one');
});
