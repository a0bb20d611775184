import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { type ByteSpan, spanOf } from '../base/byte-span.ts';
import { insertResourceVersion, replaceResourceVersion } from '../codec/encoded.ts';
import { quote } from '../codec/json-characters.ts';
import type { FieldPath, SelectableField } from '../meta/selectable-field.ts';
import { type Revision, StoreError, type StoreRecord } from '../store/store.ts';
import type { CachedResource, CacheEntry } from './cache.ts';
import { Intern } from './intern.ts';
import { type EntryShape, type FlatLabels, noLabels, ObjectEntry, StaleEntry } from './object-entry.ts';
import { ObjectScanner } from './object-scanner.ts';
import { alone } from './slab.ts';

export interface ObjectLocation {
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** Gives memory for that many bytes. */
export type Place = (bytes: number) => ByteSpan;

/** Makes entries of what the store holds. */
export interface EntryCodec {
  /** Which object a key is for; undefined where it has not the form of the resource's keys. */
  locate(key: string): ObjectLocation | undefined;
  /** Throws StoreError `corrupt` for a key or value that is no object of the resource. Keeps nothing of the record's value. */
  decode(record: StoreRecord, place?: Place): CacheEntry;
  /** The same entry with its bytes elsewhere. */
  move(entry: CacheEntry, place: Place): CacheEntry;
  /** The entry as DELETED events carry it: the same state, with `revision` as its resourceVersion. */
  restamp(entry: CacheEntry, revision: Revision): CacheEntry;
}

/** Different texts that are held at once per resource: label sets, namespaces, values of fields. */
const internedMax = 4_096;

/** The codec of API objects in their stored form (codec/encoded.ts). */
export function objectCodec({ prefix, namespaced, selectableFields }: CachedResource): EntryCodec {
  const shape: EntryShape = { paths: selectableFields.map(({ label }) => label) };
  const selected = new SelectedValues(selectableFields);
  const namespaces = new Intern(internedMax, (text) => text);
  const labelSets = new Intern<FlatLabels>(internedMax, parseLabels);
  const locate = (key: string) => locateObject(key, prefix, namespaced);

  return {
    locate,
    decode({ key, value, revision, stale, corrupt }, place = alone) {
      if (corrupt) throw corrupt;
      const location = locate(key);
      if (!location) throw corruptObject(key, 'the key is not one of the resource');
      if (!selected.read(value) || !isUtf8(value)) throw corruptObject(key, 'the value is not a stored object');
      try {
        const labels = selected.labels === '' ? noLabels : labelSets.of(selected.labels);
        return new (stale ? StaleEntry : ObjectEntry)(shape, {
          key,
          namespace: namespaces.of(location.namespace),
          revision,
          at: versioned(value, revision, place),
          labels,
          fields: selected.fields(),
        });
      } catch (cause) {
        throw corruptObject(key, 'the value is not a stored object', cause);
      }
    },
    restamp(entry, revision) {
      return own(entry).moved(spanOf(replaceResourceVersion(entry.bytes, entry.revision, revision)), revision);
    },
    move(entry, place) {
      const at = place(entry.end - entry.start);
      entry.memory.copy(at.memory, at.start, entry.start, entry.end);
      return own(entry).moved(at);
    },
  };
}

function own(entry: CacheEntry): ObjectEntry {
  if (!(entry instanceof ObjectEntry)) throw new TypeError('an entry that another codec decoded');
  return entry;
}

/** Puts the stored bytes, with the version in them, where `place` says. */
function versioned(value: Uint8Array, revision: Revision, place: Place): ByteSpan {
  let at: ByteSpan | undefined;
  const bytes = insertResourceVersion(value, revision, (size) => {
    at = place(size);
    return at.memory.subarray(at.start, at.end);
  });
  return at ?? spanOf(bytes);
}

const corruptObject = (key: string, why: string, cause?: unknown): StoreError =>
  new StoreError('corrupt', `key ${key}: ${why}`, { key, ...(cause !== undefined && { cause }) });

function locateObject(key: string, prefix: string, namespaced: boolean): ObjectLocation | undefined {
  const slash = key.indexOf('/', prefix.length);
  if (!namespaced)
    return slash < 0 && key.length > prefix.length ? { namespace: '', name: key.slice(prefix.length) } : undefined;
  const name = key.slice(slash + 1);
  if (slash <= prefix.length || name === '' || name.includes('/')) return undefined;
  return { namespace: key.slice(prefix.length, slash), name };
}

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

/** What selectors look at in an object's bytes. Holds what it read last. */
class SelectedValues {
  readonly #scanner: ObjectScanner;
  readonly #fields: readonly { readonly paths: readonly number[]; readonly absent: string }[];
  readonly #texts = new Intern(internedMax, (text) => text);
  #bytes: Buffer = Buffer.alloc(0);

  constructor(fields: readonly SelectableField[]) {
    const paths: FieldPath[] = [['metadata', 'labels']];
    // Fields may have a path in common.
    const indexOf = (path: FieldPath): number => {
      const there = paths.findIndex((other) => isDeepStrictEqual(other, path));
      return there >= 0 ? there : paths.push(path) - 1;
    };
    this.#fields = fields.map((field) => ({ paths: field.paths.map(indexOf), absent: field.absent }));
    this.#scanner = new ObjectScanner(paths);
  }

  /** False for bytes that are no stored object. */
  read(value: Uint8Array): boolean {
    this.#bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return this.#scanner.scan(value);
  }

  /** The labels in JSON; '' where there are none. */
  get labels(): string {
    const start = this.#scanner.start(0);
    return start < 0 ? '' : this.#bytes.toString('utf8', start, this.#scanner.end(0));
  }

  fields(): readonly string[] {
    return this.#fields.length === 0 ? noFields : this.#fields.map((field) => this.#texts.of(this.#textOf(field)));
  }

  #textOf({ paths, absent }: { readonly paths: readonly number[]; readonly absent: string }): string {
    for (const path of paths) {
      const text = this.#scalar(this.#scanner.start(path), this.#scanner.end(path));
      if (text !== '') return text;
    }
    return absent;
  }

  /** A text without its quotes, a number or boolean as it is written; '' for everything else. */
  #scalar(start: number, end: number): string {
    if (start < 0) return '';
    const bytes = this.#bytes;
    if (bytes[start] !== quote) return /^(?:true|false|-?\d.*)$/.exec(bytes.toString('latin1', start, end))?.[0] ?? '';
    const text = bytes.toString('utf8', start + 1, end - 1);
    return text.includes('\\') ? JSON.parse(`"${text}"`) : text;
  }
}

const noFields: readonly string[] = [];
