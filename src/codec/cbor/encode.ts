import { nestedTest } from '../../schema/nested-schemas.ts';
import { isRecord } from '../../schema/own-property.ts';
import { type Schema, type StructSchema, schemaOf } from '../../schema/schema.ts';
import { selfDescribed } from './format.ts';
import { CborWriter } from './writer.ts';

/**
 * Encodes a JSON value as one data item in the self-described tag, deterministically (RFC 8949 section 4.2.1): fields are
 * those of JSON, in the order of their encoded names. The schema tells which texts are base64 of bytes; without one they are
 * texts.
 */
export function encodeCbor(value: unknown, schema?: Schema): Buffer {
  const writer = new CborWriter();
  writer.raw(selfDescribed);
  valueWriter(schema)(writer, value);
  return writer.finish();
}

/** The same without the tag: an element of a larger value. */
export function encodeElement(value: unknown, schema?: Schema): Buffer {
  const writer = new CborWriter();
  valueWriter(schema)(writer, value);
  return writer.finish();
}

type ValueWriter = (writer: CborWriter, value: unknown) => void;

const compiled = new WeakMap<Schema, ValueWriter>();

function valueWriter(schema: Schema | undefined): ValueWriter {
  if (!schema) return writeValue;
  let known = compiled.get(schema);
  if (!known) {
    known = hasBytes(schema) ? compile(schema) : writeValue;
    compiled.set(schema, known);
  }
  return known;
}

const hasBytes = nestedTest(({ type }) => type === 'bytes');

/** Writers of the elements are compiled on first use, because structs may be recursive. */
function compile(schema: Schema): ValueWriter {
  switch (schema.type) {
    case 'bytes':
      return (writer, value) => (typeof value === 'string' ? writer.base64(value) : writeValue(writer, value));
    case 'list':
      return (writer, value) =>
        Array.isArray(value) ? writeList(writer, value, valueWriter(schema.items)) : writeValue(writer, value);
    case 'map':
      return (writer, value) =>
        isRecord(value) ? writeMap(writer, value, () => valueWriter(schema.values)) : writeValue(writer, value);
    case 'struct':
      return compileStruct(schema);
    default:
      return writeValue;
  }
}

function compileStruct({ fields, additional }: StructSchema): ValueWriter {
  const writers = new Map<string, ValueWriter>();
  const others = typeof additional === 'object' ? additional : undefined;
  const writerOf = (name: string): ValueWriter => {
    const known = writers.get(name);
    if (known) return known;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) return valueWriter(others);
    const made = valueWriter(schemaOf(field));
    writers.set(name, made);
    return made;
  };
  return (writer, value) => (isRecord(value) ? writeMap(writer, value, writerOf) : writeValue(writer, value));
}

export function writeValue(writer: CborWriter, value: unknown): void {
  if (typeof value === 'string') writer.text(value);
  else if (typeof value === 'number' || typeof value === 'bigint') writer.number(value);
  else if (typeof value === 'boolean') writer.boolean(value);
  else if (Array.isArray(value)) writeList(writer, value, writeValue);
  else if (isRecord(value)) writeMap(writer, value, anyWriter);
  else writer.null();
}

const anyWriter = (): ValueWriter => writeValue;

function writeList(writer: CborWriter, list: readonly unknown[], write: ValueWriter): void {
  writer.array(list.length);
  for (const item of list) write(writer, item);
}

/** Omits undefined fields, like `JSON.stringify`. */
function writeMap(
  writer: CborWriter,
  map: Readonly<Record<string, unknown>>,
  writerOf: (name: string) => ValueWriter,
): void {
  const names = sortedNames(map);
  writer.map(names.length);
  for (const name of names) {
    writer.text(name);
    writerOf(name)(writer, map[name]);
  }
}

/** The names of the fields in the order of their encoding: by length in bytes, then by bytes. */
export function sortedNames(map: Readonly<Record<string, unknown>>): readonly string[] {
  const names: string[] = [];
  let ascii = true;
  for (const name in map) {
    if (map[name] === undefined) continue;
    names.push(name);
    ascii &&= isAscii(name);
  }
  return ascii ? names.sort(compareAscii) : sortedByBytes(names);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

const compareAscii = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);

/** Half of a surrogate pair is encoded as U+FFFD, so names may become equal: the last one counts. */
function sortedByBytes(names: readonly string[]): readonly string[] {
  const encoded = new Map(names.map((name) => [name.toWellFormed(), { name, bytes: Buffer.from(name) }]));
  return [...encoded.values()]
    .sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name);
}
