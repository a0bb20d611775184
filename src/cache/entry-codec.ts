import { isUtf8 } from 'node:buffer';
import { insertResourceVersion, replaceResourceVersion } from '../codec/encoded.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type Revision, StoreError, type StoreRecord } from '../store/store.ts';
import type { CachedResource, CacheEntry } from './cache.ts';
import { Intern } from './intern.ts';
import { findLabels } from './metadata-scanner.ts';
import { type EntryShape, type FlatLabels, noLabels, ObjectEntry } from './object-entry.ts';

export interface ObjectLocation {
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** Makes entries of what the store holds. */
export interface EntryCodec {
  /** Which object a key is for; undefined where it has not the form of the resource's keys. */
  locate(key: string): ObjectLocation | undefined;
  /** Throws StoreError `corrupt` for a key or value that is no object of the resource. Keeps nothing of the record's value. */
  decode(record: StoreRecord): CacheEntry;
  /** The entry as DELETED events carry it: the same state, with `revision` as its resourceVersion. */
  restamp(entry: CacheEntry, revision: Revision): CacheEntry;
}

/** Different texts that are held at once per resource: label sets, namespaces. */
const internedMax = 4_096;

/** The codec of API objects in their stored form (codec/encoded.ts). */
export function objectCodec({ prefix, namespaced, selectableFields }: CachedResource): EntryCodec {
  const shape: EntryShape = { paths: Object.keys(selectableFields) };
  const readers = Object.values(selectableFields);
  const namespaces = new Intern(internedMax, (text) => text);
  const labelSets = new Intern<FlatLabels>(internedMax, parseLabels);
  const noFields: readonly string[] = [];
  const locate = (key: string) => locateObject(key, prefix, namespaced);

  return {
    locate,
    decode({ key, value, revision }) {
      const location = locate(key);
      if (!location) throw corrupt(key, 'the key is not one of the resource');
      const range = findLabels(value);
      if (range === 'malformed' || !isUtf8(value)) throw corrupt(key, 'the value is not a stored object');
      try {
        const labels = range === 'none' ? noLabels : labelSets.of(text(value, range.start, range.end));
        return new ObjectEntry(shape, {
          key,
          namespace: namespaces.of(location.namespace),
          revision,
          // Not from the pool that small buffers share: one entry that lives long would hold the pool's 8 KiB.
          bytes: insertResourceVersion(value, revision, Buffer.allocUnsafeSlow),
          labels,
          fields: readers.length === 0 ? noFields : readFields(value, readers),
        });
      } catch (cause) {
        throw corrupt(key, 'the value is not a stored object', cause);
      }
    },
    restamp(entry, revision) {
      if (!(entry instanceof ObjectEntry)) throw new TypeError('restamp expects an entry that the same codec decoded');
      return entry.withBytes(replaceResourceVersion(entry.bytes, entry.revision, revision), revision);
    },
  };
}

const corrupt = (key: string, why: string, cause?: unknown): StoreError =>
  new StoreError('corrupt', `key ${key}: ${why}`, { key, ...(cause !== undefined && { cause }) });

function locateObject(key: string, prefix: string, namespaced: boolean): ObjectLocation | undefined {
  const slash = key.indexOf('/', prefix.length);
  if (!namespaced)
    return slash < 0 && key.length > prefix.length ? { namespace: '', name: key.slice(prefix.length) } : undefined;
  const name = key.slice(slash + 1);
  if (slash <= prefix.length || name === '' || name.includes('/')) return undefined;
  return { namespace: key.slice(prefix.length, slash), name };
}

const text = (value: Uint8Array, start: number, end: number): string =>
  Buffer.from(value.buffer, value.byteOffset + start, end - start).toString('utf8');

function parseLabels(json: string): FlatLabels {
  const labels: unknown = JSON.parse(json);
  if (labels === null) return noLabels;
  if (typeof labels !== 'object' || Array.isArray(labels)) throw new TypeError('labels are not an object');
  const flat: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    if (typeof value !== 'string') throw new TypeError('a label is not a string');
    flat.push(key, value);
  }
  return flat;
}

function readFields(value: Uint8Array, readers: readonly ((object: ApiObject) => string)[]): readonly string[] {
  const object: ApiObject = JSON.parse(text(value, 0, value.length));
  return readers.map((read) => read(object));
}
