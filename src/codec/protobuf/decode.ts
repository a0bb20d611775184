import { limits } from '../../base/limits.ts';
import { MalformedMessage, WireReader, wireType } from '../../base/protobuf-wire.ts';
import { badRequest } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import { getOwn, isRecord, setOwn } from '../../schema/own-property.ts';
import { type Schema, type StructSchema, schemaOf, type Variant } from '../../schema/schema.ts';
import { parseJson } from '../json.ts';
import { isWrapped, type Member, membersOf, numbers } from './message.ts';

/**
 * Decodes the protobuf message of a struct (spec section 4.3), in the form that `parseJson` returns, with absent fields
 * absent; not yet decoded by the schema. Fields may be in any order; if a field that is not a list is repeated, the last
 * value wins, and messages are merged. Unknown fields are skipped: they have no names that could be told, and clients of
 * newer releases send them. Throws BadRequest if the message is invalid, nested deeper than `limits.depthMax`, or has
 * more than `limits.elementsMax` elements.
 */
export function decodeMessage(schema: StructSchema, bytes: Uint8Array): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  readSent(() => readFields(new WireReader(bytes), fieldsOf(schema), value, { depth: 0, elements: 0 }));
  return value;
}

/** Decodes data from a client: a malformed message becomes a BadRequest. */
export function readSent<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedMessage) throw badRequest(`error decoding protobuf: ${error.message}`);
    throw error;
  }
}

interface Context {
  depth: number;
  /** Number of list and map elements so far. */
  elements: number;
}

/** Reads the value of the field that `reader.next` found into `target`. */
type FieldReader = (reader: WireReader, target: Record<string, unknown>, context: Context) => void;
type FieldReaders = ReadonlyMap<number, FieldReader>;

/** Reads one value of a wire type; a message is merged into the existing value, except that a time replaces it. */
interface ValueReader {
  readonly type: number;
  readonly read: (reader: WireReader, context: Context, existing: unknown) => unknown;
}

const compiled = new WeakMap<StructSchema, FieldReaders>();

function fieldsOf(struct: StructSchema): FieldReaders {
  let fields = compiled.get(struct);
  if (!fields) {
    fields = compileMembers(membersOf(struct));
    compiled.set(struct, fields);
  }
  return fields;
}

const compileMembers = (members: readonly Member[]): FieldReaders =>
  new Map(members.map((member) => [member.number, compileMember(member)]));

function compileMember(member: Member): FieldReader {
  if (member.type === 'field') return compileField(member.name, schemaOf(member.field));
  const fields = compileMembers(member.members);
  return (reader, target, context) => {
    reader.expect(wireType.delimited);
    readNested(reader, context, () => readFields(reader, fields, target, context));
  };
}

function compileField(name: string, schema: Schema): FieldReader {
  switch (schema.type) {
    case 'list':
      return compileList(name, schema.items);
    case 'map':
      return compileMap(name, schema.values);
    default: {
      const value = valueReader(schema);
      return (reader, target, context) => {
        reader.expect(value.type);
        setOwn(target, name, value.read(reader, context, getOwn(target, name)));
      };
    }
  }
}

function compileList(name: string, items: Schema): FieldReader {
  const element = elementReader(items);
  const mayBePacked = element.type !== wireType.delimited;
  return (reader, target, context) => {
    const existing = getOwn(target, name);
    const list: unknown[] = Array.isArray(existing) ? existing : [];
    if (list !== existing) setOwn(target, name, list);
    if (mayBePacked && reader.type === wireType.delimited) {
      const outer = reader.enter();
      while (reader.more) {
        countElement(context);
        list.push(element.read(reader, context, undefined));
      }
      reader.leave(outer);
      return;
    }
    reader.expect(element.type);
    countElement(context);
    list.push(element.read(reader, context, undefined));
  };
}

function compileMap(name: string, values: Schema): FieldReader {
  const element = elementReader(values);
  return (reader, target, context) => {
    reader.expect(wireType.delimited);
    countElement(context);
    const existing = getOwn(target, name);
    const map: Record<string, unknown> = isRecord(existing) ? existing : {};
    if (map !== existing) setOwn(target, name, map);
    readNested(reader, context, () => readEntry(reader, element, map, context));
  };
}

/** A map entry without a key or value has the zero value; for the value as null, which decoding by the schema converts. */
function readEntry(reader: WireReader, element: ValueReader, map: Record<string, unknown>, context: Context): void {
  let key = '';
  let value: unknown = null;
  while (reader.next()) {
    if (reader.field === numbers.mapKey) {
      reader.expect(wireType.delimited);
      key = reader.string();
    } else if (reader.field === numbers.mapValue) {
      reader.expect(element.type);
      value = element.read(reader, context, value);
    } else reader.skip();
  }
  setOwn(map, key, value);
}

/** Elements that are lists or maps are wrapped in a message. */
function elementReader(schema: Schema): ValueReader {
  if (!isWrapped(schema)) return valueReader(schema);
  const name = 'element';
  const fields: FieldReaders = new Map([[numbers.wrapped, compileField(name, schema)]]);
  return {
    type: wireType.delimited,
    read: (reader, context) => {
      const holder: Record<string, unknown> = {};
      readNested(reader, context, () => readFields(reader, fields, holder, context));
      return holder[name] ?? null;
    },
  };
}

function valueReader(schema: Schema): ValueReader {
  switch (schema.type) {
    case 'string':
      return { type: wireType.delimited, read: (reader) => reader.string() };
    case 'boolean':
      return { type: wireType.varint, read: (reader) => reader.bool() };
    case 'integer':
      return {
        type: wireType.varint,
        read: schema.format === 'int32' ? (reader) => reader.int32() : (reader) => reader.int64(),
      };
    case 'number':
      return { type: wireType.fixed64, read: (reader) => reader.double() };
    case 'bytes':
      return { type: wireType.delimited, read: (reader) => reader.bytes().toString('base64') };
    case 'time':
      return { type: wireType.delimited, read: schema.precision === 'micro' ? readMicroTime : readTime };
    case 'quantity':
      return { type: wireType.delimited, read: readQuantity };
    case 'intOrString':
      return { type: wireType.delimited, read: readIntOrString };
    case 'any':
      if (schema.variants) return variantReader(schema.variants);
      return { type: wireType.delimited, read: readAny };
    case 'struct':
      return structReader(schema);
    case 'list':
    case 'map':
      return elementReader(schema);
  }
}

/** The last variant that the message has; without any it is false where that is one, else null. */
function variantReader(variants: readonly Variant[]): ValueReader {
  // Compiled on first use, because structs may be recursive.
  let known: readonly { readonly name: string; readonly schema: Schema; readonly number: number }[] | undefined;
  let fields: FieldReaders | undefined;
  return {
    type: wireType.delimited,
    read: (reader, context) => {
      known ??= variants.map(({ number, schema }) => ({
        name: String(number),
        number,
        schema: typeof schema === 'function' ? schema() : schema,
      }));
      fields ??= new Map(known.map(({ name, number, schema }) => [number, compileField(name, schema)]));
      const [holder, compiledFields] = [{} as Record<string, unknown>, fields];
      readNested(reader, context, () => readFields(reader, compiledFields, holder, context));
      const found = known.findLast(({ name }) => name in holder);
      if (found) return withoutZeros(found.schema, holder[found.name]);
      return known.some(({ schema }) => schema.type === 'boolean') ? false : null;
    },
  };
}

/** What JSON shows of a variant, which is not decoded by a schema once more. */
function withoutZeros(schema: Schema, value: unknown): unknown {
  if (schema.type === 'list') return (value as readonly unknown[]).map((each) => withoutZeros(schema.items, each));
  return schema.type === 'struct' ? decode(schema, value).value : value;
}

function structReader(schema: StructSchema): ValueReader {
  // Compiled on first use, because structs may be recursive.
  let fields: FieldReaders | undefined;
  return {
    type: wireType.delimited,
    read: (reader, context, existing) => {
      fields ??= fieldsOf(schema);
      const target = isRecord(existing) ? existing : {};
      const known = fields;
      readNested(reader, context, () => readFields(reader, known, target, context));
      return target;
    },
  };
}

function readFields(reader: WireReader, fields: FieldReaders, target: Record<string, unknown>, context: Context): void {
  while (reader.next()) {
    const field = fields.get(reader.field);
    if (field) field(reader, target, context);
    else reader.skip();
  }
}

function countElement(context: Context): void {
  if (++context.elements > limits.elementsMax) {
    throw new MalformedMessage(`more than ${limits.elementsMax} elements in lists and maps`);
  }
}

function readNested(reader: WireReader, context: Context, read: () => void): void {
  if (++context.depth > limits.depthMax) throw new MalformedMessage(`nested more than ${limits.depthMax} deep`);
  const outer = reader.enter();
  read();
  reader.leave(outer);
  context.depth--;
}

interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/** Undefined for an empty message, which means an unset time. */
function readTimestamp(reader: WireReader): Timestamp | undefined {
  let seconds: number | bigint = 0;
  let nanos = 0;
  const outer = reader.enter();
  const empty = !reader.more;
  while (reader.next()) {
    if (reader.field === numbers.seconds) seconds = expected(reader, wireType.varint).int64();
    else if (reader.field === numbers.nanos) nanos = expected(reader, wireType.varint).int32();
    else reader.skip();
  }
  reader.leave(outer);
  if (empty) return undefined;
  if (typeof seconds === 'bigint' || seconds < secondsMin || seconds > secondsMax || nanos < 0 || nanos > 999_999_999) {
    throw new MalformedMessage(`${seconds} seconds and ${nanos} nanoseconds are no time between the years 0 and 9999`);
  }
  return { seconds, nanos };
}

const secondsMin = Date.parse('0000-01-01T00:00:00Z') / 1000;
const secondsMax = Date.parse('9999-12-31T23:59:59Z') / 1000;

const wholeSeconds = ({ seconds }: Timestamp): string => new Date(seconds * 1000).toISOString().slice(0, 19);

function readTime(reader: WireReader): string | null {
  const timestamp = readTimestamp(reader);
  return timestamp ? `${wholeSeconds(timestamp)}Z` : null;
}

function readMicroTime(reader: WireReader): string | null {
  const timestamp = readTimestamp(reader);
  if (!timestamp) return null;
  const micros = Math.floor(timestamp.nanos / 1000);
  return `${wholeSeconds(timestamp)}.${String(micros).padStart(6, '0')}Z`;
}

function readQuantity(reader: WireReader, _context: Context, existing: unknown): string {
  let text = typeof existing === 'string' ? existing : '0';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === numbers.text) text = expected(reader, wireType.delimited).string();
    else reader.skip();
  }
  reader.leave(outer);
  return text;
}

function readIntOrString(reader: WireReader, _context: Context, existing: unknown): number | string {
  let isString = typeof existing === 'string';
  let int = typeof existing === 'number' ? existing : 0;
  let string = typeof existing === 'string' ? existing : '';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === numbers.intOrString) isString = expected(reader, wireType.varint).int64() === 1;
    else if (reader.field === numbers.int) int = expected(reader, wireType.varint).int32();
    else if (reader.field === numbers.string) string = expected(reader, wireType.delimited).string();
    else reader.skip();
  }
  reader.leave(outer);
  return isString ? string : int;
}

/** The message contains JSON text. */
function readAny(reader: WireReader, _context: Context, existing: unknown): unknown {
  let value: unknown = existing ?? null;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field !== numbers.text) reader.skip();
    else {
      const bytes = expected(reader, wireType.delimited).bytes();
      value = bytes.length === 0 ? null : parseJson(bytes).value;
    }
  }
  reader.leave(outer);
  return value;
}

function expected(reader: WireReader, type: number): WireReader {
  reader.expect(type);
  return reader;
}
