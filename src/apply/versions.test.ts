import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { anyObject, int32, list, map, opt, type Schema, string, struct } from '../schema/schema.ts';
import { applyConfiguration } from './apply.ts';
import {
  allShapes,
  contentOf,
  entriesOf,
  firstMs,
  identified,
  ownersOf,
  run,
  step,
  thing,
  withStored,
} from './apply-fixture.ts';

const base = { schema: allShapes, apiVersion: 'v1', subresource: '', nowMs: firstMs, force: false };

suite('a schema that changed', () => {
  const pair = { x: opt(1, int32(), 'x'), y: opt(2, int32(), 'y') };
  const kinds: Readonly<
    Record<
      string,
      {
        readonly granular: Schema;
        readonly atomic: Schema;
        readonly value: unknown;
        readonly other: unknown;
        readonly field: string;
      }
    >
  > = {
    struct: {
      granular: struct('test.Pair', 'A pair.', pair),
      atomic: struct('test.Pair', 'A pair.', pair, { structType: 'atomic' }),
      value: { x: 1 },
      other: { y: 2 },
      field: '.it.x',
    },
    map: {
      granular: map(int32()),
      atomic: map(int32(), { mapType: 'atomic' }),
      value: { x: 1 },
      other: { y: 2 },
      field: '.it.x',
    },
    list: {
      granular: list(string(), { listType: 'set' }),
      atomic: list(string()),
      value: ['x'],
      other: ['y'],
      field: '.it[="x"]',
    },
  };
  const schemaWith = (schema: Schema) => thing({ it: opt(2, schema, 'It.'), text: opt(3, string(), 'Text.') });

  for (const [name, { granular, atomic, value, other, field }] of Object.entries(kinds)) {
    test(`${name}: a value that became atomic is owned whole by all owners of a part`, () => {
      const before = run(schemaWith(granular), [
        { apply: 'a', config: { it: value } },
        { apply: 'b', config: { it: other } },
      ]);
      const after = step(schemaWith(atomic), { update: 'u', object: withStored({ text: 'x' }) }, before);
      assert.deepEqual(ownersOf(after.object), { 'a/Apply': ['.it'], 'b/Apply': ['.it'], 'u/Update': ['.text'] });
      step(schemaWith(atomic), { apply: 'a', config: { it: value }, conflicts: ['b: .it'] }, after);
    });

    test(`${name}: a value that became granular has no inferred owners of its parts`, () => {
      const before = run(schemaWith(atomic), [{ apply: 'a', config: { it: value } }]);
      const after = step(schemaWith(granular), { apply: 'b', config: { it: value } }, before);
      assert.deepEqual(ownersOf(after.object)['a/Apply'], ['.it']);
      const again = step(schemaWith(granular), { apply: 'a', config: { it: value } }, after);
      assert.deepEqual(ownersOf(again.object)['a/Apply'], [field]);
    });
  }

  test('values without a schema stay as they are', () => {
    const before = run(schemaWith(map(string())), [{ apply: 'a', config: { it: { k: 'v' } } }]);
    const after = step(schemaWith(anyObject()), { update: 'u', object: withStored({ text: 'x' }) }, before);
    assert.deepEqual(ownersOf(after.object), { 'a/Apply': ['.it.k'], 'u/Update': ['.text'] });
  });
});

suite('several versions', () => {
  // v2 has `text` as `title`.
  const schemas = {
    v1: thing({ text: opt(2, string(), 'Text.'), other: opt(3, string(), 'Other.') }),
    v2: thing({ title: opt(2, string(), 'Text.'), other: opt(3, string(), 'Other.') }),
  };
  const convert = (object: Readonly<Record<string, unknown>>, apiVersion: string) => {
    if (apiVersion !== 'v1' && apiVersion !== 'v2') return undefined;
    const { text, title = text, ...rest } = object;
    const field = apiVersion === 'v1' ? 'text' : 'title';
    return {
      schema: schemas[apiVersion],
      object: { ...rest, apiVersion, ...(title !== undefined && { [field]: title }) },
    };
  };
  const inVersion = (apiVersion: 'v1' | 'v2', live: ApiObject | undefined) =>
    (live && { ...convert(live, apiVersion)?.object, metadata: live.metadata }) as ApiObject | undefined;
  const applied = (
    apiVersion: 'v1' | 'v2',
    manager: string,
    live: ApiObject | undefined,
    config: Readonly<Record<string, unknown>>,
  ) => {
    const result = applyConfiguration({
      ...base,
      schema: schemas[apiVersion],
      apiVersion,
      manager,
      convert,
      live: inVersion(apiVersion, live),
      config: { ...identified(config), apiVersion },
    });
    return result.type === 'applied'
      ? (result.object as ApiObject)
      : result.conflicts.map(({ path }) => path.join('/'));
  };

  test('fields of a manager are compared in the version of its entry', () => {
    const live = applied('v1', 'a', undefined, { text: 'x', other: 'o' }) as ApiObject;
    assert.deepEqual(applied('v2', 'b', live, { title: 'y' }), ['f:text']);
    const shared = applied('v2', 'b', live, { title: 'x' }) as ApiObject;
    assert.deepEqual(ownersOf(shared), { 'a/Apply': ['.other', '.text'], 'b/Apply': ['.title'] });
    const left = applied('v1', 'a', shared, {}) as ApiObject;
    assert.deepEqual(contentOf(left), { text: 'x' });
  });

  test('an applier that changes its version gives up the fields of its last entry', () => {
    const live = applied('v1', 'a', undefined, { text: 'x', other: 'o' }) as ApiObject;
    const moved = applied('v2', 'a', live, { title: 'x' }) as ApiObject;
    assert.deepEqual(contentOf(moved), { title: 'x' });
    assert.deepEqual(ownersOf(moved), { 'a/Apply': ['.title'] });
    assert.equal(entriesOf(moved)[0]?.apiVersion, 'v2');
  });

  test('entries in versions that are no longer served are dropped at the next change', () => {
    const live = applied('v1', 'a', undefined, { text: 'x' }) as ApiObject;
    const [entry] = entriesOf(live);
    live.metadata.managedFields = [{ ...entry, apiVersion: 'v0' }];
    assert.deepEqual(ownersOf(applied('v1', 'b', live, { text: 'y' }) as ApiObject), { 'b/Apply': ['.text'] });
  });
});
