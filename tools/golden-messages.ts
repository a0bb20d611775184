import assert from 'node:assert/strict';
import { stringifyJson } from '../src/codec/json.ts';
import { decodeMessage } from '../src/codec/protobuf/decode.ts';
import { encodeEnvelope, openEnvelope, type TypeMeta } from '../src/codec/protobuf/envelope.ts';
import { isWrapped, type Member, membersOf } from '../src/codec/protobuf/message.ts';
import { watchFrame } from '../src/codec/protobuf/watch-frame.ts';
import type { Dialect } from '../src/dialect/dialect.ts';
import { type Kind, storesObjects } from '../src/kinds/kind.ts';
import { kinds } from '../src/kinds/kinds.ts';
import { deleteOptions } from '../src/kinds/meta/delete-options.ts';
import { discoveryDocuments } from '../src/kinds/meta/discovery-documents.ts';
import { listSchema } from '../src/kinds/meta/list-schema.ts';
import { partialObjectMetadata, partialObjectMetadataListV1beta1 } from '../src/kinds/meta/partial-object-metadata.ts';
import { status } from '../src/kinds/meta/status.ts';
import { apiVersionOf } from '../src/kinds/stored-as.ts';
import { decode } from '../src/schema/decode.ts';
import { nestedSchemas } from '../src/schema/nested-schemas.ts';
import { type Schema, type StructSchema, schemaOf, type Variant } from '../src/schema/schema.ts';

/** What goes over the wire in protobuf, as text: the fields of every message, and the bytes of an object of every kind. */

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: StructSchema;
}

/** Every kind that is sent in an envelope, without lists of kinds. */
function typesOf(dialect: Dialect): readonly Typed[] {
  const all = kinds(dialect);
  const bodies = all.flatMap(({ subresources }) =>
    subresources.flatMap((subresource) => (subresource.type === 'action' ? [subresource.body] : [])),
  );
  const v1 = apiVersionOf({ group: dialect.group('meta'), version: 'v1' });
  return [
    ...[...all, ...bodies].map((kind) => ({ kind: kind.kind, apiVersion: apiVersionOf(kind), schema: kind.schema })),
    { kind: 'DeleteOptions', apiVersion: 'v1', schema: deleteOptions },
    { kind: 'Status', apiVersion: 'v1', schema: status },
    { kind: 'PartialObjectMetadata', apiVersion: v1, schema: partialObjectMetadata },
  ];
}

const listsOf = (dialect: Dialect): readonly Kind[] => kinds(dialect).filter(storesObjects);

/** Each message with its fields by number, as `<number> <name> <type>`. */
export function messageFields(dialect: Dialect): string {
  const roots = [
    ...typesOf(dialect).map(({ schema }) => schema),
    ...listsOf(dialect).map(({ schema }) => listSchema(schema)),
    listSchema(partialObjectMetadata),
    partialObjectMetadataListV1beta1,
    ...discoveryDocuments.values(),
  ];
  const seen = new Set<Schema>();
  const messages = new Map<string, string>();
  for (const schema of roots.flatMap((root) => [...nestedSchemas(root, seen)])) {
    if (schema.type === 'struct') messages.set(schema.name, fieldLines(membersOf(schema), 1).join(''));
  }
  return [...messages]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, fields]) => `${name}\n${fields}`)
    .join('');
}

function fieldLines(members: readonly Member[], depth: number): readonly string[] {
  const indent = '  '.repeat(depth);
  return members.flatMap((member) =>
    member.type === 'inline'
      ? [`${indent}${member.number} message of:\n`, ...fieldLines(member.members, depth + 1)]
      : [`${indent}${member.number} ${member.name} ${typeName(schemaOf(member.field))}\n`],
  );
}

function typeName(schema: Schema): string {
  switch (schema.type) {
    case 'struct':
      return schema.name;
    case 'integer':
      return schema.format;
    case 'time':
      return schema.precision === 'micro' ? 'microTime' : 'time';
    case 'any':
      return schema.variants ? `one of ${schema.variants.map(variantName).join(', ')}` : schema.type;
    case 'list':
      return `list of ${elementName(schema.items)}`;
    case 'map':
      return `map of ${elementName(schema.values)}`;
    default:
      return schema.type;
  }
}

const variantName = ({ number, schema }: Variant): string =>
  `${number} ${typeName(typeof schema === 'function' ? schema() : schema)}`;

const elementName = (schema: Schema): string => (isWrapped(schema) ? `(${typeName(schema)})` : typeName(schema));

const bytesPerLine = 48;

function hexLines(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return (hex.match(new RegExp(`.{1,${2 * bytesPerLine}}`, 'g')) ?? []).map((line) => `  ${line}\n`).join('');
}

/** An object that has all fields. */
const objectOf = ({ kind, apiVersion, schema }: Typed): Readonly<Record<string, unknown>> & TypeMeta => ({
  ...sampleStruct(schema, []),
  kind,
  apiVersion,
});

/** The bytes of an object of each kind that has all of its fields, of a list of each kind, and of a watch event. */
export function messageBytes(dialect: Dialect): string {
  const one = (typed: Typed): Buffer => encodeEnvelope(typed.schema, objectOf(typed));
  const objects = typesOf(dialect).map((typed): readonly [string, Buffer] => [
    `${typed.apiVersion} ${typed.kind}`,
    one(typed),
  ]);
  const lists = listsOf(dialect).map((kind): readonly [string, Buffer] => {
    const type = { kind: kind.listKind, apiVersion: apiVersionOf(kind) };
    const items = [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }];
    return [
      `${type.apiVersion} ${type.kind}`,
      encodeEnvelope(listSchema(kind.schema), { ...type, metadata: { resourceVersion: '7' }, items }),
    ];
  });
  const failure = one({ kind: 'Status', apiVersion: 'v1', schema: status });
  const event: readonly [string, Buffer] = ['a watch event', watchFrame('ERROR', failure)];
  return [...objects, ...lists, event].map(([name, bytes]) => `${name}\n${hexLines(bytes)}`).join('');
}

/**
 * The objects of `messageBytes` in JSON, as they are served once they were read. Throws if reading finds an error in one,
 * or if its bytes in protobuf mean another object.
 */
export function jsonObjects(dialect: Dialect): Readonly<Record<string, unknown>> {
  const objects = typesOf(dialect).map((typed): readonly [string, unknown] => {
    const { kind, apiVersion, schema } = typed;
    const sent = objectOf(typed);
    const message = { ...decodeMessage(schema, openEnvelope(encodeEnvelope(schema, sent)).raw), kind, apiVersion };
    const [object, ofMessage] = [read(schema, JSON.parse(JSON.stringify(sent))), read(schema, message)];
    assert.deepEqual(ofMessage, object);
    return [`${apiVersion} ${kind}`, object];
  });
  return Object.fromEntries(objects);
}

function read(schema: StructSchema, sent: unknown): unknown {
  const { value, errors } = decode(schema, sent);
  assert.deepEqual(errors, []);
  return JSON.parse(stringifyJson(value));
}

/** A value that says where it stands: texts are the names of their fields, numbers the numbers. */
function sample(schema: Schema, name: string, number: number, within: readonly StructSchema[]): unknown {
  switch (schema.type) {
    case 'string':
      return schema.enum?.[0] ?? name;
    case 'boolean':
      return true;
    case 'integer':
      return number;
    case 'number':
      return number / 2;
    case 'bytes':
      return Buffer.from(name).toString('base64');
    case 'time':
      return schema.precision === 'micro' ? '2026-01-02T03:04:05.678901Z' : '2026-01-02T03:04:05Z';
    case 'quantity':
      return `${number}m`;
    case 'intOrString':
      return number % 2 === 0 ? number : name;
    case 'any': {
      const last = schema.variants?.at(-1);
      if (!last) return { [name]: number };
      return sample(typeof last.schema === 'function' ? last.schema() : last.schema, name, number, within);
    }
    case 'list':
      return [sample(schema.items, name, number, within)];
    case 'map':
      return { b: sample(schema.values, name, number, within), a: sample(schema.values, name, number, within) };
    case 'struct':
      return sampleStruct(schema, within);
  }
}

/** Structs in themselves are left out. */
function sampleStruct(struct: StructSchema, within: readonly StructSchema[]): Record<string, unknown> {
  if (within.includes(struct)) return {};
  const fields = Object.entries(struct.fields).filter(([, { number = 0 }]) => number > 0);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, sample(schemaOf(field), name, field.number ?? 0, [...within, struct])]),
  );
}
