import { limits } from '../../base/limits.ts';
import { versionBytes } from '../../codec/encoded.ts';
import { entityTooLarge } from '../../meta/status-error.ts';
import type { Stored } from './stored-object.ts';

/**
 * Throws RequestEntityTooLarge for an encoded object past `limits.objectBytesMax`. One that is stored already, by another
 * program or under another limit, may stay as large as it is: whoever makes it smaller, takes a finalizer away or keeps a
 * status up to date is not held up. `stored` is absent for a new object.
 */
export function requireObjectSize(encoded: Uint8Array, stored?: Stored): void {
  if (encoded.length <= Math.max(limits.objectBytesMax, stored ? storedBytes(stored) : 0)) return;
  const parts = 'what was sent, what was there, its status and its managed fields';
  const problem = `the object would take ${encoded.length} bytes of JSON, ${parts} together`;
  throw entityTooLarge(`${problem}; limit is ${limits.objectBytesMax}`);
}

const storedBytes = ({ bytes, revision }: Stored): number => bytes.length - versionBytes(revision);
