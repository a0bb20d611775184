import type { Snapshot } from '../../cache/cache.ts';
import { internalError } from '../../meta/status-error.ts';

/**
 * Fails a read that would include an object whose stored value cannot be decoded: omitting it would report it as
 * deleted. `prefix` is a key or the key prefix of a collection.
 */
export function refuseCorrupt({ corrupt }: Snapshot, prefix: string): void {
  if (corrupt.size === 0) return;
  for (const [key, revision] of corrupt) {
    if (key.startsWith(prefix))
      throw internalError(new Error(`the stored value of ${key} at ${revision} cannot be read`));
  }
}
