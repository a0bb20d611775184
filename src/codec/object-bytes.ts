import { asBuffer, type ByteSpan } from '../base/collections/byte-span.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { encodeObject } from './json.ts';
import { JsonBytes } from './json-bytes.ts';

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
 * The same in memory that has `versionBytes` of room in front of the bytes: only what precedes the field is moved. Returns
 * where the object starts then.
 */
export function insertVersionInRoom({ memory, start, end }: ByteSpan, revision: number): number {
  const inserted = versionField(revision);
  const at = memory.subarray(start, end).indexOf(marker) + marker.length;
  const from = start - inserted.length;
  memory.copyWithin(from, start, start + at);
  memory.write(inserted, from + at, 'latin1');
  return from;
}

const versionField = (revision: number): string => `"resourceVersion":"${revision}",`;

/** Number of bytes that `insertResourceVersion` adds. */
export const versionBytes = (revision: number): number => versionField(revision).length;

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
