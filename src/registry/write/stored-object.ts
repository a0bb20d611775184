import { equalValues } from '../../apply/equal-values.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { insertResourceVersion, versionBytes } from '../../codec/encoded.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalError } from '../../meta/status-error.ts';
import type { Revision, StoreRecord } from '../../store/store.ts';

/** An object as it is stored now. */
export interface Stored {
  readonly object: ApiObject;
  /** JSON with the resourceVersion in place. */
  readonly bytes: Buffer;
  readonly revision: Revision;
  /** See StoreRecord. */
  readonly stale: boolean;
}

/** What the cache holds was readable when it came there. */
export const storedOfEntry = ({ bytes, revision, stale }: CacheEntry): Stored => ({
  object: readStored(bytes),
  bytes,
  revision,
  stale,
});

/** Of a value that came straight from the store: it may have been damaged, or written with a key that is lost. */
export function storedOfRecord({ key, value, revision, stale = false, corrupt }: StoreRecord): Stored {
  try {
    if (corrupt) throw corrupt;
    const bytes = insertResourceVersion(value, revision);
    return { object: readStored(bytes), bytes, revision, stale };
  } catch (error) {
    throw internalError(new Error(`the stored value of ${key} at ${revision} cannot be read`, { cause: error }));
  }
}

const readStored = (bytes: Buffer): ApiObject => parseStored(bytes) as ApiObject;

/** True for an object, and its encoding, that says what is stored: whatever the order of its fields, it is equally long. */
export function isStored(object: ApiObject, encoded: Buffer, stored: Stored): boolean {
  if (encoded.length + versionBytes(stored.revision) !== stored.bytes.length) return false;
  if (insertResourceVersion(encoded, stored.revision).equals(stored.bytes)) return true;
  const { resourceVersion } = stored.object.metadata;
  const versioned = {
    ...object,
    metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
  return equalValues(versioned, stored.object);
}
