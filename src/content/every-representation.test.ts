import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { spanOf } from '../base/collections/byte-span.ts';
import { ManualClock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { CacheEntry } from '../cache/cache.ts';
import { parseStored, stringifyJson } from '../codec/json.ts';
import { dialects } from '../dialect/dialects.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import { withoutObjects } from '../registry/registry-fixture.ts';
import type { ListReply } from '../registry/reply.ts';
import type { ServedResource } from '../resources/resource.ts';
import { decode } from '../schema/decode.ts';
import { isRecord } from '../schema/own-property.ts';
import { presentValuesOf } from '../schema/values-fixture.ts';
import { comparable } from './formats/comparable-fixture.ts';
import type { Format } from './formats/format.ts';
import { enabledFormats } from './formats/formats.ts';
import { messageSchema } from './message-schema.ts';
import type { Negotiated } from './negotiation.ts';
import { type Presentation, Representation } from './representation.ts';

/** Lists, tables, metadata and objects of watch events say the same in every format as in JSON. */

const formats = enabledFormats(new Set(['CBORServingAndStorage']));
const [json] = formats;
assert.ok(json);
const dialect = dialects.orch;
const clock = new ManualClock();
const representation = new Representation(dialect, clock);
const representations = ['object', 'PartialObjectMetadataList', 'Table'] as const;

function presentationOf(kind: Kind, { name }: Format, as: Negotiated['as'], metaVersion: string): Presentation {
  const negotiated = { format: name, as, metaVersion, mediaType: '', pretty: false };
  return representation.presentation(
    negotiated,
    kind,
    new URLSearchParams(as === 'Table' ? 'includeObject=Object' : ''),
  );
}

const resources = [...withoutObjects(kinds(dialect)).all()].filter(({ kind }) => storesObjects(kind));

async function listBytes(
  served: ServedResource,
  items: readonly Buffer[],
  presentation: Presentation,
): Promise<Buffer> {
  const entries = items.map((bytes) => ({ ...spanOf(bytes), bytes }) as CacheEntry);
  const reply: ListReply = {
    type: 'list',
    served,
    metadata: { resourceVersion: '7', continue: 'more', remainingItemCount: 3 },
    items: entries,
    count: () => entries.length,
  };
  const signal = new AbortController().signal;
  const list = await representation.list(reply, presentation, { exchange: { signal }, slice: new TimeSlice(clock) });
  const pieces =
    list.type === 'pieces'
      ? await Promise.all(list.pieces)
      : [list.head, [...list.items].map(({ memory, start, end }) => memory.subarray(start, end)).join(','), list.tail];
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)));
}

/** The content of an answer: read by its schema if it has one, without the types of items, which protobuf leaves out. */
function contentOf(bytes: Buffer, format: Format, kind: Kind): unknown {
  const type = parsedType(bytes, format);
  if (type.kind === 'Table') return format.decode(bytes, { kind: 'Table', schema: kind.schema }).value;
  const schema = messageSchema(type.kind, kind, type.apiVersion);
  const { value, errors } = decode(schema, format.decode(bytes, { kind: type.kind, schema }).value);
  assert.deepEqual(errors, []);
  const { items, ...rest } = value as { items?: readonly unknown[] };
  return { ...rest, ...(items && { items: items.map(withoutType) }) };
}

const withoutType = (item: unknown): unknown => {
  if (!isRecord(item)) return item;
  const { kind: _, apiVersion: __, ...rest } = item;
  return rest;
};

/** `kind` and `apiVersion` of an answer, which every format tells before its content is read. */
function parsedType(bytes: Buffer, format: Format): { readonly kind: string; readonly apiVersion: string } {
  const expected = { kind: '', schema: messageSchema('Status', undefined) };
  const { value } = format.decode(bytes, expected);
  return value as { kind: string; apiVersion: string };
}

const [runs, depth] = [8, 4];

describe('what is sent of objects is the same in every format', () => {
  for (const served of resources) {
    const { kind } = served;
    for (const as of representations) {
      for (const version of as === 'object' ? ['v1'] : ['v1', 'v1beta1']) {
        const covering = formats.filter(({ covers, tables }) => covers(kind.schema) && (as !== 'Table' || tables));
        test(`${apiVersionOf(kind)} ${kind.kind} as ${as} ${version}`, async () => {
          const objects = fc.array(presentValuesOf(kind.schema, depth), { maxLength: 3 });
          await fc.assert(
            fc.asyncProperty(objects, async (values) => {
              const stored = values.map((value) => {
                const typed = { ...(value as object), kind: kind.kind, apiVersion: apiVersionOf(kind) };
                const { value: object } = decode(kind.schema, parseStored(Buffer.from(stringifyJson(typed))));
                return Buffer.from(stringifyJson(object));
              });
              const metaVersion = `${dialect.group('meta')}/${version}`;
              const sent = async (format: Format): Promise<readonly unknown[]> => {
                const presentation = presentationOf(kind, format, as, metaVersion);
                const list = await listBytes(served, stored, presentation);
                const events = stored.map((bytes) => representation.eventObject(bytes, presentation, true));
                return [list, ...events].map((bytes) => comparable(contentOf(bytes, format, kind), format));
              };
              for (const format of covering.slice(1)) {
                const same: readonly unknown[] = (await sent(json)).map((each) => comparable(each, format));
                assert.deepEqual(await sent(format), same, format.name);
              }
            }),
            { numRuns: runs },
          );
        });
      }
    }
  }
});
