import { MalformedMessage, WireReader, WireWriter, wireType } from '../../base/protobuf-wire.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { readSent } from './decode.ts';
import { encodeMessage, writeMessage } from './encode.ts';

/**
 * The envelope of an object in protobuf (spec section 4.3): four magic bytes, then the message `runtime.Unknown`, with the
 * TypeMeta of the object and the bytes of its message.
 */

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

const numbers = { typeMeta: 1, raw: 2, contentEncoding: 3, contentType: 4, apiVersion: 1, kind: 2 } as const;

/** TypeMeta of the object in an envelope; '' if absent. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Envelope extends TypeMeta {
  /** The object's message: a view of the input. */
  readonly raw: Buffer;
}

/**
 * Opens an envelope. Throws BadRequest if there is none, or if its content is encoded once more. The content type is
 * not looked at, as in kube-apiserver.
 */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw badRequest('error decoding protobuf: the body must begin with the bytes 6b 38 73 00');
  }
  if (bytes.length === magic.length) throw badRequest('error decoding protobuf: empty body');
  return readSent(() => readEnvelope(new WireReader(bytes.subarray(magic.length))));
}

function readEnvelope(reader: WireReader): Envelope {
  let envelope: Envelope = { apiVersion: '', kind: '', raw: Buffer.alloc(0) };
  while (reader.next()) {
    switch (reader.field) {
      case numbers.typeMeta:
        reader.expect(wireType.delimited);
        envelope = { ...envelope, ...readTypeMeta(reader, envelope) };
        break;
      case numbers.raw:
        reader.expect(wireType.delimited);
        envelope = { ...envelope, raw: reader.bytes() };
        break;
      case numbers.contentEncoding:
        reader.expect(wireType.delimited);
        if (reader.bytes().length === 0) break;
        throw new MalformedMessage('an object whose content is encoded once more cannot be read');
      case numbers.contentType:
        reader.expect(wireType.delimited);
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return envelope;
}

function readTypeMeta(reader: WireReader, { apiVersion, kind }: TypeMeta): TypeMeta {
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field !== numbers.apiVersion && reader.field !== numbers.kind) {
      reader.skip();
      continue;
    }
    const { field } = reader;
    reader.expect(wireType.delimited);
    const text = reader.string();
    if (field === numbers.kind) kind = text;
    else apiVersion = text;
  }
  reader.leave(outer);
  return { apiVersion, kind };
}

/** Encodes an object with `apiVersion` and `kind`, in its envelope. */
export function encodeEnvelope(schema: StructSchema, object: TypeMeta & Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  writer.raw(envelopeTail);
  const before = writer.length;
  writeMessage(writer, schema, object);
  writer.delimit(numbers.raw, before);
  writeHead(writer, object);
  return writer.finish();
}

/** The fields after the object: empty content encoding and content type. */
const envelopeTail = Buffer.from([numbers.contentEncoding * 8 + 2, 0, numbers.contentType * 8 + 2, 0]);

function writeHead(writer: WireWriter, { apiVersion, kind }: TypeMeta): void {
  const before = writer.length;
  writeText(writer, numbers.kind, kind);
  writeText(writer, numbers.apiVersion, apiVersion);
  writer.delimit(numbers.typeMeta, before);
  writer.raw(magic);
}

function writeText(writer: WireWriter, number: number, text: string): void {
  const before = writer.length;
  writer.text(text);
  writer.delimit(number, before);
}

/** The bytes of a list before and after its items, which are encoded as they are sent. */
export interface ListEnvelope {
  /** Includes the metadata of the list. */
  readonly head: Buffer;
  readonly tail: Buffer;
}

/**
 * The envelope of a list whose items come from `encodeItem`. `schema` is that of the list, `object` the list without
 * items, `itemBytes` the total length of the items, which the head contains.
 */
export function listEnvelope(
  schema: StructSchema,
  object: TypeMeta & Readonly<Record<string, unknown>>,
  itemBytes: number,
): ListEnvelope {
  const metadata = encodeMessage(schema, object);
  const writer = new WireWriter();
  writer.raw(metadata);
  writer.uint(metadata.length + itemBytes);
  writer.tag(numbers.raw, wireType.delimited);
  writeHead(writer, object);
  return { head: writer.finish(), tail: envelopeTail };
}

/** Encodes an object as an item of a list whose items have the field number `number`. */
export function encodeItem(number: number, schema: StructSchema, object: Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  writeMessage(writer, schema, object);
  writer.delimit(number, 0);
  return writer.finish();
}

/** The length of what `encodeItem` returns. */
export function itemLength(number: number, schema: StructSchema, object: Readonly<Record<string, unknown>>): number {
  const writer = new WireWriter();
  writeMessage(writer, schema, object);
  writer.delimit(number, 0);
  return writer.discard();
}
