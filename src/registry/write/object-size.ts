import { limits } from '../../base/limits.ts';
import { versionBytes } from '../../codec/object-bytes.ts';
import { entityTooLarge } from '../../meta/status-error.ts';
import type { Stored } from './stored-object.ts';

/**
 * Throws RequestEntityTooLarge for an encoded object larger than `limits.objectBytesMax`. An object already stored
 * above the limit (by another program, or under another limit) may keep its size, so that it can be shrunk, its
 * finalizers removed and its status updated. `stored` is undefined for a new object.
 */
export function requireObjectSize(encoded: Uint8Array, stored?: Stored): void {
  if (encoded.length <= Math.max(limits.objectBytesMax, stored ? storedBytes(stored) : 0)) return;
  const parts = 'what was sent, what was there, its status and its managed fields';
  const problem = `the object would take ${encoded.length} bytes of JSON, ${parts} together`;
  throw entityTooLarge(`${problem}; limit is ${limits.objectBytesMax}`);
}

const storedBytes = ({ bytes, revision }: Stored): number => bytes.length - versionBytes(revision);
