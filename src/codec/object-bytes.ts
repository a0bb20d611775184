import { asBuffer, type ByteSpan } from '../base/collections/byte-span.ts';
import { decimalDigits } from '../base/decimal-digits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { encodeObject } from './json.ts';
import { JsonBytes } from './json-bytes.ts';
import { comma, quote } from './json-characters.ts';

/** Marks the position of `resourceVersion` in the bytes of a stored object; see `insertResourceVersion`. */
const marker = Buffer.from('"metadata":{');

/** Encodes an object with its resourceVersion, if it has one: those that were never stored have none. */
export function encodeVersioned(object: ApiObject): Buffer {
  const encoded = encodeObject(object);
  const { resourceVersion } = object.metadata;
  return resourceVersion === undefined ? encoded : insertResourceVersion(encoded, Number(resourceVersion));
}

/**
 * Inserts the resourceVersion, the store revision of the write, as the first field of metadata. Objects are stored as JSON
 * without it: `kind`, `apiVersion` and `metadata` first, in this order, with metadata never empty. Copies the bytes once,
 * into a buffer from `allocate`.
 */
export function insertResourceVersion(
  stored: Uint8Array,
  revision: number,
  allocate: (size: number) => Buffer = Buffer.allocUnsafe,
): Buffer {
  const bytes = asBuffer(stored);
  const at = bytes.indexOf(marker) + marker.length;
  const inserted = versionField(revision);
  const result = allocate(bytes.length + inserted.length);
  bytes.copy(result, 0, 0, at);
  result.write(inserted, at, 'latin1');
  bytes.copy(result, at + inserted.length, at);
  return result;
}

/**
 * The same in memory that has `versionBytes` of room in front of the bytes: only what precedes the field is moved. `metadata`:
 * where its value starts. Returns where the object starts then.
 */
export function insertVersionInRoom({ memory, start }: ByteSpan, metadata: number, revision: number): number {
  const from = start - versionBytes(revision);
  memory.copyWithin(from, start, metadata + 1);
  let at = from + metadata + 1 - start;
  for (let index = 0; index < beforeVersion.length; index++) memory[at++] = beforeVersion[index] as number;
  at = metadata;
  memory[at--] = comma;
  memory[at--] = quote;
  for (let rest = revision; ; rest = Math.floor(rest / 10)) {
    memory[at--] = zero + (rest % 10);
    if (rest < 10) return from;
  }
}

const beforeVersion = Buffer.from('"resourceVersion":"');
const zero = 0x30;

const versionField = (revision: number): string => `"resourceVersion":"${revision}",`;

const versionFieldBytes = versionField(0).length - 1;

/** Number of bytes that `insertResourceVersion` adds. */
export const versionBytes = (revision: number): number => versionFieldBytes + decimalDigits(revision);

/** Replaces the revision `from`, inserted by `insertResourceVersion`, with `to`. Returns a copy. */
export function replaceResourceVersion(bytes: Buffer, from: number, to: number): Buffer {
  const at = bytes.indexOf(marker) + marker.length;
  const rest = bytes.subarray(at + versionBytes(from));
  return insertResourceVersion(Buffer.concat([bytes.subarray(0, at), rest]), to);
}

/** A view of the bytes of an object's metadata, including the braces. */
export function metadataOf(bytes: Buffer): Buffer {
  const start = bytes.indexOf(marker) + marker.length - 1;
  return bytes.subarray(start, new JsonBytes(bytes).skipValue(start));
}
