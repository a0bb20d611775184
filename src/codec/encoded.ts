import { skipValue } from './json-bytes.ts';
import { asBuffer } from './utf8.ts';

/** Places `resourceVersion` in the bytes of a stored object; see `insertResourceVersion`. */
const marker = Buffer.from('"metadata":{');

/**
 * Objects are stored as JSON without a resourceVersion, with `kind`, `apiVersion` and `metadata` first, in this order,
 * and metadata never empty. The revision of the write becomes the resourceVersion when it is known: this puts it in as
 * the first field of metadata. Copies the bytes once, into what `allocate` gives.
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

const versionField = (revision: number): string => `"resourceVersion":"${revision}",`;

/** How many bytes `insertResourceVersion` adds. */
export const versionBytes = (revision: number): number => versionField(revision).length;

/** Bytes that `insertResourceVersion` made with the revision `from`, with `to` in its place. A copy. */
export function replaceResourceVersion(bytes: Buffer, from: number, to: number): Buffer {
  const at = bytes.indexOf(marker) + marker.length;
  const rest = bytes.subarray(at + versionBytes(from));
  return insertResourceVersion(Buffer.concat([bytes.subarray(0, at), rest]), to);
}

/** The bytes of an object's metadata, braces included: a view. */
export function metadataOf(bytes: Buffer): Buffer {
  const start = bytes.indexOf(marker) + marker.length - 1;
  return bytes.subarray(start, skipValue(bytes, start));
}
