import { MalformedMessage, WireReader, WireWriter, wireType } from '../../base/protobuf-wire.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { readSent } from './decode.ts';
import { encodeMessage, writeMessage } from './encode.ts';

/**
 * Around each object in protobuf (spec section 4.3): four bytes that say what it is, then the message `Unknown`, which
 * says of what kind the object is and holds the bytes of its message.
 */

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

const numbers = { typeMeta: 1, raw: 2, contentEncoding: 3, contentType: 4, apiVersion: 1, kind: 2 } as const;

/** What an envelope says of the object in it; '' where it says nothing. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Envelope extends TypeMeta {
  /** The object's message: a view of the bytes that were read. */
  readonly raw: Buffer;
}

/** Opens an envelope. Throws BadRequest where there is none, or one around something that is not plain protobuf. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw badRequest('error decoding protobuf: the body must begin with the bytes 6b 38 73 00');
  }
  return readSent(() => readEnvelope(new WireReader(bytes.subarray(magic.length))));
}

function readEnvelope(reader: WireReader): Envelope {
  let envelope: Envelope = { apiVersion: '', kind: '', raw: Buffer.alloc(0) };
  while (reader.next()) {
    const { field } = reader;
    if (reader.type !== wireType.delimited) reader.skip();
    else if (field === numbers.typeMeta) envelope = { ...envelope, ...readTypeMeta(reader) };
    else if (field === numbers.raw) envelope = { ...envelope, raw: reader.bytes() };
    else if (field !== numbers.contentEncoding) reader.skip();
    else if (reader.skipMeaning())
      throw new MalformedMessage('an object whose content is encoded once more cannot be read');
  }
  return envelope;
}

function readTypeMeta(reader: WireReader): TypeMeta {
  let [apiVersion, kind] = ['', ''];
  const outer = reader.enter();
  while (reader.next()) {
    const wanted = reader.type === wireType.delimited;
    if (wanted && reader.field === numbers.apiVersion) apiVersion = reader.string();
    else if (wanted && reader.field === numbers.kind) kind = reader.string();
    else reader.skip();
  }
  reader.leave(outer);
  return { apiVersion, kind };
}

/** An object with `apiVersion` and `kind`, in its envelope. */
export function encodeEnvelope(schema: StructSchema, object: TypeMeta & Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  writer.raw(envelopeTail);
  const before = writer.length;
  writeMessage(writer, schema, object);
  writer.delimit(numbers.raw, before);
  writeHead(writer, object);
  return writer.finish();
}

/** What stands behind the object: no content encoding, no content type. */
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

/** A list in its envelope, around items that are made as they are sent. */
interface ListEnvelope {
  /** With the metadata of the list. */
  readonly head: Buffer;
  readonly tail: Buffer;
}

/**
 * What stands around the items of a list, each of which is one of `encodeItem`; `itemBytes` is the length of all of them:
 * it stands at the beginning. `schema` is that of the list, `object` the list without items.
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

/** An object as an item of a list, which has them in the field of that number. */
export function encodeItem(number: number, schema: StructSchema, object: Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  writeMessage(writer, schema, object);
  writer.delimit(number, 0);
  return writer.finish();
}
