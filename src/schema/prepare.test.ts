import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults } from './defaults.ts';
import { dropDisabledFields } from './feature-gates.ts';
import { prepare } from './prepare.ts';
import { rulesOf } from './rules/rule-tree.ts';
import type { Field, Schema, StructSchema } from './schema.ts';
import { embeddedObjects } from './structural/embedded-objects.ts';
import { validateUpdate } from './validate.ts';

let looks = 0;

const fieldOf = (schema: Schema, more: Partial<Field> = {}): Field => ({
  schema: () => {
    looks++;
    return schema;
  },
  ...{ required: false, presence: 'explicit' },
  ...more,
});

const structOf = (fields: StructSchema['fields'], more: Partial<StructSchema> = {}): StructSchema => ({
  ...{ type: 'struct', name: '', structType: 'granular', structural: true },
  fields,
  ...more,
});

const text: Schema = { type: 'string', structural: true };

test('what is asked of a whole schema is found part by part', () => {
  const leaves = Array.from({ length: 50 }, (_, at) =>
    structOf({ [`a${at}`]: fieldOf(text), [`b${at}`]: fieldOf(text) }),
  );
  const branches = Array.from({ length: 10 }, (_, at) =>
    structOf(Object.fromEntries(leaves.slice(5 * at, 5 * at + 5).map((leaf, index) => [`c${index}`, fieldOf(leaf)]))),
  );
  const root = structOf(Object.fromEntries(branches.map((branch, at) => [`d${at}`, fieldOf(branch)])));
  for (const part of [...leaves, ...branches]) prepare(part);
  looks = 0;
  prepare(root);
  assert.ok(looks <= 6 * branches.length, `${looks} looks at ${branches.length} fields`);
  looks = 0;
  const object = { d0: { c0: { a0: 'x' } } };
  applyDefaults(root, object);
  dropDisabledFields(root, object, undefined, new Set());
  assert.deepEqual(
    [rulesOf(root), validateUpdate(root, object, object), [...embeddedObjects(root, object)]],
    [undefined, [], []],
  );
  assert.ok(looks <= branches.length, `${looks} looks when an object is written`);
});

test('what parts have counts for the whole', () => {
  const inner = structOf(
    { a: fieldOf(text, { default: 'x' }) },
    { embedded: true, rules: [{ rule: 'true' }], constraint: { required: ['a'] } },
  );
  const middle = structOf({ inner: fieldOf(inner) });
  const root = structOf({ middle: fieldOf(middle) });
  for (const part of [inner, middle, root]) prepare(part);
  const object: Record<string, unknown> = { middle: { inner: { apiVersion: 'v1', kind: 'A' } } };
  applyDefaults(root, object);
  assert.deepEqual(object, { middle: { inner: { apiVersion: 'v1', kind: 'A', a: 'x' } } });
  assert.deepEqual(
    Array.from(embeddedObjects(root, object), ({ path }) => path),
    ['middle.inner'],
  );
  assert.equal(rulesOf(root)?.fields.get('middle')?.fields.get('inner')?.rules.length, 1);
});
