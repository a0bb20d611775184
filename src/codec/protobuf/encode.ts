import { WireWriter, wireType } from '../../base/protobuf-wire.ts';
import { canonicalTime } from '../../meta/time.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import { type Field, type Schema, type StructSchema, schemaOf, type Variant } from '../../schema/schema.ts';
import { stringifyJson } from '../json.ts';
import { isWrapped, type Member, membersOf, numbers } from './message.ts';

/**
 * Encodes a struct's value, decoded by its schema, as a protobuf message (spec section 4.3), byte for byte as
 * kube-apiserver does: fields in order of number, map entries in order of key, and non-pointer fields of the Go types
 * (presence `implicit` and `always`) even if they hold the zero value.
 */
export function encodeMessage(schema: StructSchema, value: Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  writeMessage(writer, schema, value);
  return writer.finish();
}

/** Writes the message in front of the bytes written so far (the writer works backwards). */
export function writeMessage(writer: WireWriter, schema: StructSchema, value: Readonly<Record<string, unknown>>): void {
  for (const write of fieldsOf(schema)) write(writer, value);
}

/** Writes one member of a message, taken from its object. */
type MemberWriter = (writer: WireWriter, object: Readonly<Record<string, unknown>>) => void;

/** Writes one value, without its tag. null is written as the zero value. */
interface ValueWriter {
  readonly type: number;
  readonly write: (writer: WireWriter, value: unknown) => void;
}

const compiled = new WeakMap<StructSchema, readonly MemberWriter[]>();

/** Field writers, last field first, because the writer works backwards. */
function fieldsOf(struct: StructSchema): readonly MemberWriter[] {
  let fields = compiled.get(struct);
  if (!fields) {
    fields = compileMembers(membersOf(struct));
    compiled.set(struct, fields);
  }
  return fields;
}

const compileMembers = (members: readonly Member[]): readonly MemberWriter[] => members.map(compileMember).reverse();

function compileMember(member: Member): MemberWriter {
  const { number } = member;
  if (member.type === 'field') return compileField(number, member.name, schemaOf(member.field), isAlways(member.field));
  const members = compileMembers(member.members);
  return (writer, object) => {
    const before = writer.length;
    for (const write of members) write(writer, object);
    writer.delimit(number, before);
  };
}

/** True for non-pointer fields of the Go types, which are always written. */
function isAlways(field: Field): boolean {
  const { type } = schemaOf(field);
  // A required struct of explicit presence is a pointer: without it the object is invalid, and stays so.
  if (field.presence === 'always' || (field.required && type !== 'struct')) return true;
  return field.presence === 'implicit' && (type === 'string' || type === 'boolean' || isNumeric(type));
}

const isNumeric = (type: Schema['type']): boolean => type === 'integer' || type === 'number';

function compileField(number: number, name: string, schema: Schema, always: boolean): MemberWriter {
  switch (schema.type) {
    case 'list':
      return compileList(number, name, schema.items);
    case 'map':
      return compileMap(number, name, schema.values);
    default: {
      const { type, write } = valueWriter(schema);
      const whenAbsent = always && schema.type !== 'bytes';
      return (writer, object) => {
        const value = getOwn(object, name);
        if ((value === undefined || value === null) && !whenAbsent) return;
        write(writer, value ?? null);
        writer.tag(number, type);
      };
    }
  }
}

function compileList(number: number, name: string, items: Schema): MemberWriter {
  const { type, write } = elementWriter(items);
  return (writer, object) => {
    const list = getOwn(object, name);
    if (!Array.isArray(list)) return;
    for (let at = list.length - 1; at >= 0; at--) {
      write(writer, list[at]);
      writer.tag(number, type);
    }
  };
}

/** Sorts keys by UTF-16 code units, which for key names equals the order of their bytes. */
function compileMap(number: number, name: string, values: Schema): MemberWriter {
  const { type, write } = elementWriter(values);
  return (writer, object) => {
    const map = getOwn(object, name);
    if (!isRecord(map)) return;
    for (const key of Object.keys(map).sort().reverse()) {
      const before = writer.length;
      write(writer, map[key]);
      writer.tag(numbers.mapValue, type);
      writeText(writer, numbers.mapKey, key);
      writer.delimit(number, before);
    }
  };
}

/** Elements that are lists or maps are wrapped in a message. */
function elementWriter(schema: Schema): ValueWriter {
  if (!isWrapped(schema)) return valueWriter(schema);
  const element = compileField(numbers.wrapped, 'element', schema, false);
  return message((writer, value) => element(writer, { element: value }));
}

/** A length-delimited value. */
const message = (write: ValueWriter['write']): ValueWriter => ({
  type: wireType.delimited,
  write: (writer, value) => {
    const before = writer.length;
    write(writer, value);
    writer.uint(writer.length - before);
  },
});

function valueWriter(schema: Schema): ValueWriter {
  switch (schema.type) {
    case 'string':
      return message((writer, value) => writer.text((value ?? '') as string));
    case 'boolean':
      return { type: wireType.varint, write: (writer, value) => writer.uint(value === true ? 1 : 0) };
    case 'integer':
      return { type: wireType.varint, write: (writer, value) => writer.int((value ?? 0) as number | bigint) };
    case 'number':
      return { type: wireType.fixed64, write: (writer, value) => writer.double(Number(value ?? 0)) };
    case 'bytes':
      return message((writer, value) => writer.raw(Buffer.from((value ?? '') as string, 'base64')));
    case 'time':
      return message((writer, value) => writeTime(writer, value, schema.precision));
    case 'quantity':
      return message((writer, value) => writeText(writer, numbers.text, String(value ?? 0)));
    case 'intOrString':
      return message(writeIntOrString);
    case 'any':
      if (schema.variants) return variantWriter(schema.variants);
      return message((writer, value) => writeText(writer, numbers.text, stringifyJson(value)));
    case 'struct':
      return message((writer, value) => writeMessage(writer, schema, isRecord(value) ? value : {}));
    case 'list':
    case 'map':
      return elementWriter(schema);
  }
}

/** The field of the value's JSON type, and those that stand beside it. null and other types are an empty message. */
function variantWriter(variants: readonly Variant[]): ValueWriter {
  // Compiled on first use, because structs may be recursive.
  let fields: readonly VariantField[] | undefined;
  return message((writer, value) => {
    fields ??= variants.map(compileVariant).reverse();
    const known = fields.some(({ is }) => is(value));
    for (const { is, write, beside } of fields) {
      if (is(value)) write(writer, { value });
      else if (known && beside !== undefined) write(writer, { value: beside });
    }
  });
}

interface VariantField extends Pick<Variant, 'beside'> {
  readonly is: (value: unknown) => boolean;
  readonly write: MemberWriter;
}

function compileVariant({ number, schema: declared, beside }: Variant): VariantField {
  const schema = typeof declared === 'function' ? declared() : declared;
  return { is: typeTests[schema.type], write: compileField(number, 'value', schema, false), ...(beside && { beside }) };
}

const typeTests = {
  boolean: (value: unknown): boolean => typeof value === 'boolean',
  list: Array.isArray,
  struct: isRecord,
} as const;

function writeText(writer: WireWriter, number: number, text: string): void {
  const before = writer.length;
  writer.text(text);
  writer.delimit(number, before);
}

/** An unset time is an empty message. */
function writeTime(writer: WireWriter, value: unknown, precision: 'second' | 'micro'): void {
  const text = typeof value === 'string' ? canonicalTime(value, precision) : undefined;
  if (text === undefined) return;
  writer.uint(precision === 'micro' ? Number(text.slice(20, 26)) * 1000 : 0);
  writer.tag(numbers.nanos, wireType.varint);
  writer.int(Date.parse(`${text.slice(0, 19)}Z`) / 1000);
  writer.tag(numbers.seconds, wireType.varint);
}

function writeIntOrString(writer: WireWriter, value: unknown): void {
  const isString = typeof value === 'string';
  writeText(writer, numbers.string, isString ? value : '');
  writer.int(isString ? 0 : ((value ?? 0) as number));
  writer.tag(numbers.int, wireType.varint);
  writer.uint(isString ? 1 : 0);
  writer.tag(numbers.intOrString, wireType.varint);
}
