import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../codec/json.ts';
import { dialects } from '../../dialect/dialects.ts';
import { storesObjects } from '../../kinds/kind.ts';
import { kinds } from '../../kinds/kinds.ts';
import { deleteOptions } from '../../kinds/meta/delete-options.ts';
import { discoveryDocuments } from '../../kinds/meta/discovery-documents.ts';
import { listSchema } from '../../kinds/meta/list-schema.ts';
import { partialObjectMetadata, partialObjectMetadataListV1beta1 } from '../../kinds/meta/partial-object-metadata.ts';
import {
  createOptions,
  getOptions,
  listOptions,
  patchOptions,
  updateOptions,
} from '../../kinds/meta/request-options.ts';
import { status } from '../../kinds/meta/status.ts';
import { typeMeta } from '../../kinds/meta/type-meta.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { decode } from '../../schema/decode.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { presentValuesOf } from '../../schema/values-fixture.ts';
import { comparable } from './comparable-fixture.ts';
import type { Shown } from './format.ts';
import { enabledFormats } from './formats.ts';

/** All of them say the same of every object. */

const formats = enabledFormats(new Set(['CBORServingAndStorage']));

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: StructSchema;
}

const typesOf = (dialect: keyof typeof dialects): readonly Typed[] => {
  const all = kinds(dialects[dialect]);
  const [first] = all;
  assert.ok(first);
  const bodies = all.flatMap(({ subresources }) =>
    subresources.flatMap((subresource) => (subresource.type === 'action' ? [subresource.body] : [])),
  );
  return [
    ...[...all, ...bodies].map((kind) => ({ kind: kind.kind, apiVersion: apiVersionOf(kind), schema: kind.schema })),
    { kind: 'DeleteOptions', apiVersion: 'v1', schema: deleteOptions },
    { kind: 'Status', apiVersion: 'v1', schema: status },
    ...Object.entries({ getOptions, listOptions, createOptions, updateOptions, patchOptions }).map(
      ([name, schema]) => ({
        kind: `${name[0]?.toUpperCase()}${name.slice(1)}`,
        apiVersion: 'v1',
        schema: { ...schema, fields: { ...typeMeta, ...schema.fields } },
      }),
    ),
    { kind: 'PartialObjectMetadata', apiVersion: 'v1', schema: partialObjectMetadata },
    { kind: 'PartialObjectMetadataList', apiVersion: 'v1beta1', schema: partialObjectMetadataListV1beta1 },
    ...[
      ...all.filter(storesObjects),
      { ...first, listKind: 'PartialObjectMetadataList', schema: partialObjectMetadata },
    ].map((kind) => ({ kind: kind.listKind, apiVersion: apiVersionOf(kind), schema: listSchema(kind.schema) })),
    ...[...discoveryDocuments].map(([kind, schema]) => ({ kind, apiVersion: 'v1', schema })),
  ];
};

const [runs, depth] = [20, 5];

test('there are all formats', () => {
  assert.deepEqual(
    formats.map(({ name }) => name),
    ['json', 'yaml', 'protobuf', 'cbor'],
  );
});

for (const dialect of ['orch', 'kubernetes'] as const)
  describe(`an object is the same in every format (${dialect})`, () => {
    for (const { kind, apiVersion, schema } of typesOf(dialect)) {
      test(`${apiVersion} ${kind}`, () => {
        const values = presentValuesOf(schema, depth);
        fc.assert(
          fc.property(values, (value) => {
            const sent = parseJson(Buffer.from(stringifyJson({ ...(value as object), kind, apiVersion })));
            const given = decode(schema, sent.value);
            assert.deepEqual(given.errors, []);
            for (const format of formats) {
              const options = { pretty: false, schemaOf: () => schema };
              const bytes = format.encode(given.value as Shown, options);
              const read = format.decode(bytes, { kind, schema });
              assert.deepEqual(read.duplicates, []);
              const again = decode(schema, read.value);
              assert.deepEqual(comparable(again, format), comparable(given, format), format.name);
              assert.deepEqual(format.encode(given.value as Shown, options), bytes, `${format.name} is deterministic`);
            }
          }),
          { numRuns: runs },
        );
      });
    }
  });
