import type { Snapshot } from '../../cache/cache.ts';
import { internalError } from '../../meta/status-error.ts';

/**
 * Refuses a read that would have to show an object whose stored value cannot be read: to leave it out would say that it
 * is not there. `prefix` is a key, or what the keys of a collection start with.
 */
export function refuseCorrupt({ corrupt }: Snapshot, prefix: string): void {
  if (corrupt.size === 0) return;
  for (const [key, revision] of corrupt) {
    if (key.startsWith(prefix))
      throw internalError(new Error(`the stored value of ${key} at ${revision} cannot be read`));
  }
}
