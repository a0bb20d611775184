import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../codec/json.ts';
import { dialects } from '../../dialect/dialects.ts';
import { kinds } from '../../kinds/kinds.ts';
import { deleteOptions } from '../../kinds/meta/delete-options.ts';
import { status } from '../../kinds/meta/status.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { presentValuesOf } from '../../schema/values-fixture.ts';
import type { Format, Shown } from './format.ts';
import { enabledFormats } from './formats.ts';
import { protobuf } from './protobuf.ts';

/** All of them say the same of every object. */

const formats = enabledFormats(new Set(['CBORServingAndStorage']));

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: StructSchema;
}

const typesOf = (dialect: keyof typeof dialects): readonly Typed[] => {
  const all = kinds(dialects[dialect]);
  const bodies = all.flatMap(({ subresources }) =>
    subresources.flatMap((subresource) => (subresource.type === 'action' ? [subresource.body] : [])),
  );
  return [
    ...[...all, ...bodies].map((kind) => ({ kind: kind.kind, apiVersion: apiVersionOf(kind), schema: kind.schema })),
    { kind: 'DeleteOptions', apiVersion: 'v1', schema: deleteOptions },
    { kind: 'Status', apiVersion: 'v1', schema: status },
  ];
};

/** What formats may write differently: integers beyond int64 are floats in CBOR, and protobuf has no empty lists. */
function comparable(value: unknown, format: Format): unknown {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) return Number(value);
  if (Array.isArray(value)) return value.map((each) => comparable(each, format));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).filter(([, each]) => format !== protobuf || !isEmptyList(each));
  return Object.fromEntries(fields.map(([name, each]) => [name, comparable(each, format)]));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const [runs, depth] = [20, 5];

test('there are all formats', () => {
  assert.deepEqual(
    formats.map(({ name }) => name),
    ['json', 'yaml', 'protobuf', 'cbor'],
  );
});

describe('an object is the same in every format', () => {
  for (const { kind, apiVersion, schema } of typesOf('orch')) {
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
