import type { CachedResource, CacheEntry } from '../../cache/cache.ts';
import { encodeObject, parseStored } from '../../codec/json.ts';
import { insertResourceVersion, versionBytes } from '../../codec/object-bytes.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalError } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { Revision, StoreRecord } from '../../store/store.ts';

/** The stored state of an object. */
export interface Stored {
  readonly object: ApiObject;
  /** JSON including the resourceVersion. */
  readonly bytes: Buffer;
  readonly revision: Revision;
  /** See StoreRecord. */
  readonly stale: boolean;
}

/** Cached values were decoded when they entered the cache. */
export const storedOfEntry = ({ bytes, revision, stale }: CacheEntry): Stored => ({
  object: readStored(bytes),
  bytes,
  revision,
  stale,
});

/** A value read directly from the store is normalised as the cache does it. It may be damaged, or encrypted with a lost key. */
export function storedOfRecord(
  { key, value, revision, stale = false, corrupt }: StoreRecord,
  normalise?: CachedResource['normalise'],
): Stored {
  try {
    if (corrupt) throw corrupt;
    const bytes = insertResourceVersion(normalise?.(value) ?? value, revision);
    return { object: readStored(bytes), bytes, revision, stale };
  } catch (error) {
    throw internalError(new Error(`the stored value of ${key} at ${revision} cannot be read`, { cause: error }));
  }
}

/** The stored state in the form in which the object is written. It is stale if it is not in the version to be stored. */
export function inWrittenForm({ resource, toWritten }: ServedResource, stored: Stored): Stored {
  if (!resource.custom) return stored;
  const object = toWritten(stored.object);
  const stale = stored.stale || stored.object.apiVersion !== resource.stored.apiVersion;
  if (object === stored.object) return stale === stored.stale ? stored : { ...stored, stale };
  return { ...stored, object, bytes: insertResourceVersion(encodeObject(object), stored.revision), stale };
}

const readStored = (bytes: Buffer): ApiObject => parseStored(bytes) as ApiObject;

/**
 * True if the object equals the stored one. The order of fields may differ, but then the encodings have equal length.
 */
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
