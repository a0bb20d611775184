import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText, objectMeta, path, validateMetadata, withSpec } from './structural-fixture.ts';
import { readStructuralSchema } from './structural-schema.ts';

/** Defaults of objects, and of lists whose items are told apart. Other defaults: see `schema-errors.test.ts`. */

interface Row {
  readonly schema: unknown;
  /** `path: text`; paths start at the schema. */
  readonly errors: readonly string[];
}

const text = { type: 'string' };
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
const setOf = (items: object) => ({ type: 'array', 'x-kubernetes-list-type': 'set', items });
const root = (schema: object, ...errors: readonly string[]): Row => ({ schema, errors });
const spec = (schema: object, ...errors: readonly string[]): Row => ({
  schema: withSpec(schema),
  errors: errors.map((error) => `.properties[spec]${error}`),
});

const rows: Readonly<Record<string, Row>> = {
  'a default of the root': root({
    type: 'object',
    default: { apiVersion: 'v1', kind: 'A', metadata: { name: 'a', unknown: 1 } },
  }),
  'a default of the root that is no object': root(
    { type: 'object', default: {} },
    '.default.apiVersion: Required value: must not be empty',
    '.default.kind: Required value: must not be empty',
  ),
  'a default of the root that cannot be read': root(
    { type: 'object', default: { apiVersion: 1, kind: null, metadata: { labels: { a: 1 } } } },
    '.default.apiVersion: Invalid value: 1: must be a string',
    '.default.kind: Invalid value: "null": must be a string',
    '.default.metadata.labels.a: Invalid value: {"labels":{"a":1}}: expected string, got number',
  ),
  'a default of an embedded object that cannot be read': spec(
    { ...embedded, ...preserve, default: { apiVersion: 'v1', kind: 2, metadata: 'x' } },
    '.default.kind: Invalid value: 2: must be a string',
    '.default.metadata: Invalid value: "x": expected object, got string',
  ),
  'defaults with an item twice': spec({ ...setOf(text), default: ['a', 'a'] }, '.default.[1]: Duplicate value: "a"'),
};

for (const [name, { schema, errors }] of Object.entries(rows)) {
  test(name, () => {
    const result = readStructuralSchema(schema, { path, objectMeta, validateMetadata });
    assert.deepEqual(
      result.errors.map(errorText),
      errors.map((error) => `${path}${error}`),
    );
    assert.equal(result.schema === undefined, errors.length > 0);
  });
}
