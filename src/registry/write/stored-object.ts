import type { Caller } from '../../base/caller.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import type { CachedResource, CacheEntry } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import { insertResourceVersion, versionBytes } from '../../codec/object-bytes.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalFailure } from '../../meta/status-error.ts';
import { headOf } from '../../resources/conversion-review.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { VersionForms } from '../../resources/version-forms.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { Revision, StoreRecord } from '../../store/store.ts';
import { unreadableValue } from '../read/read-checks.ts';

/** The stored state of an object. */
export interface Stored {
  readonly object: ApiObject;
  /** JSON including the resourceVersion. */
  readonly bytes: Buffer;
  readonly revision: Revision;
  /** See StoreRecord. */
  readonly stale: boolean;
}

/** Who waits for a conversion. */
type Reader = Pick<Caller, 'signal' | 'span' | 'awaitWebhook'>;

/**
 * The state of a cached object in the form in which objects are written. Cached values were decoded when they entered the
 * cache. A promise only where somebody else converts.
 */
export function storedOfEntry(served: ServedResource, entry: CacheEntry, reader: Reader): Stored | Promise<Stored> {
  const { revision, stale } = entry;
  const convert = convertedForms(served);
  if (!convert) return { object: readStored(entry.bytes), bytes: entry.bytes, revision, stale };
  const state = { revision, stale: stale || isOtherVersion(served, entry.bytes) };
  return whenConverted(convert.bytesOf(entry, reader), reader, (bytes) => ({
    ...{ object: readStored(bytes), bytes },
    ...state,
  }));
}

/** The same of a value read directly from the store. */
export function storedOfRecord(served: ServedResource, record: StoreRecord, reader: Reader): Stored | Promise<Stored> {
  const stored = readRecord(record, served.resource.normalise);
  const convert = convertedForms(served);
  if (!convert) return stored;
  const state = { ...stored, stale: stored.stale || stored.object.apiVersion !== served.resource.stored.apiVersion };
  return whenConverted(convert.converted(stored.bytes, reader), reader, (bytes) =>
    bytes === stored.bytes ? state : { ...state, object: readStored(bytes), bytes },
  );
}

/** A value as it is stored, normalised as the cache does it. It may be damaged, or encrypted with a lost key. */
export function readRecord(
  { key, value, revision, stale = false, corrupt }: StoreRecord,
  normalise?: CachedResource['normalise'],
): Stored {
  try {
    if (corrupt) throw corrupt;
    const bytes = insertResourceVersion(normalise?.(value) ?? value, revision);
    return { object: readStored(bytes), bytes, revision, stale };
  } catch (error) {
    throw internalFailure(unreadableValue(key, revision), error);
  }
}

/** The forms in which objects of this version are written, unless they are stored so. A stale one is not in the version to be stored. */
const convertedForms = ({ resource, forms }: ServedResource): VersionForms | undefined =>
  resource.custom ? forms : undefined;

const isOtherVersion = ({ resource }: ServedResource, bytes: Buffer): boolean =>
  headOf(bytes).apiVersion !== resource.stored.apiVersion;

function whenConverted(
  converted: Buffer | Promise<Buffer>,
  { signal }: Reader,
  make: (bytes: Buffer) => Stored,
): Stored | Promise<Stored> {
  return converted instanceof Promise ? untilAborted(converted, signal).then(make) : make(converted);
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
