import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildStructuralSchema } from '../../schema/structural/structural-schema.ts';
import { validateEmbeddedMetadata, validateEmbeddedObjects } from './embedded-metadata-validation.ts';
import { objectMeta } from './object-meta.ts';

const embedded = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  'x-kubernetes-preserve-unknown-fields': true,
};
const schema = buildStructuralSchema(
  {
    type: 'object',
    properties: {
      one: embedded,
      list: { type: 'array', items: { type: 'object', properties: { in: embedded } } },
      map: { type: 'object', additionalProperties: embedded },
      any: { 'x-kubernetes-preserve-unknown-fields': true, properties: { in: embedded }, items: embedded },
      nested: { ...embedded, properties: { in: embedded } },
    },
  },
  { objectMeta },
);

test('metadata of embedded objects is checked wherever they are', () => {
  const bad = { metadata: { labels: { a: 'no label' } } };
  const rows: readonly (readonly [value: unknown, paths: readonly string[]])[] = [
    [{ one: bad }, ['one.metadata.labels']],
    [{ list: [{}, { in: bad }] }, ['list[1].in.metadata.labels']],
    [{ map: { 'a.b': bad } }, ['map[a.b].metadata.labels']],
    [{ any: { in: bad } }, ['any.in.metadata.labels']],
    [{ any: [bad] }, ['any[0].metadata.labels']],
    [{ nested: { in: bad, ...bad } }, ['nested.metadata.labels', 'nested.in.metadata.labels']],
    [{ other: bad, ...bad, one: {}, list: {}, map: [] }, []],
  ];
  for (const [value, paths] of rows) {
    assert.deepEqual(
      validateEmbeddedObjects(schema, value).map(({ field }) => field),
      paths,
    );
  }
});

test('embedded objects need no name, but one that they have is checked', () => {
  assert.deepEqual(validateEmbeddedMetadata({}), []);
  assert.deepEqual(validateEmbeddedMetadata(undefined), []);
  assert.deepEqual(
    validateEmbeddedMetadata({ name: 'a/b', annotations: { '?': '' } }).map(({ field }) => field),
    ['metadata.name', 'metadata.annotations'],
  );
});
