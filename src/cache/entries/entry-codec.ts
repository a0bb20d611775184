import { isUtf8 } from 'node:buffer';
import { asBuffer, type ByteSpan, spanOf } from '../../base/collections/byte-span.ts';
import { comma, quote } from '../../codec/json-characters.ts';
import {
  insertResourceVersion,
  insertVersionInRoom,
  replaceResourceVersion,
  versionBytes,
} from '../../codec/object-bytes.ts';
import type { FieldPath, SelectableField } from '../../meta/selectable-field.ts';
import { type Revision, StoreError, type StoreRecord } from '../../store/store.ts';
import type { CachedResource, CacheEntry } from '../cache.ts';
import { Interner } from './intern.ts';
import { type EntryShape, type FlatLabels, noLabels, ObjectEntry, StaleEntry } from './object-entry.ts';
import { ObjectScanner } from './object-scanner.ts';
import { allocate } from './slab.ts';

export interface ObjectLocation {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** Allocates memory for that many bytes. */
export type Place = (bytes: number) => ByteSpan;

/** Decodes store records into cache entries. */
export interface EntryCodec {
  /** The object that a key refers to; undefined if the key does not have the resource's form. */
  locate(key: string): ObjectLocation | undefined;
  /**
   * Throws StoreError `corrupt` if the key or value is not an object of the resource. Does not retain the record's value, but
   * for one with room for the entry (`entryRoom`), which it changes.
   */
  decode(record: StoreRecord, place?: Place): CacheEntry;
  /** See `CachedResource`. */
  readonly ready?: CachedResource['ready'];
  /** The same entry with its bytes copied to other memory. */
  move(entry: CacheEntry, place: Place): CacheEntry;
  /** The same entry, whose bytes are at `span` too. */
  at(entry: CacheEntry, span: ByteSpan): CacheEntry;
  /** The entry as sent in DELETED events: the same state, with `revision` as its resourceVersion. */
  restamp(entry: CacheEntry, revision: Revision): CacheEntry;
}

/** Interned strings per resource and category: label sets, namespaces, field values. */
const internedMax = 4_096;

/** Codec for API objects in their stored form (codec/object-bytes.ts). */
export function objectCodec({
  prefix,
  namespaced,
  selectableFields,
  normalise = asIs,
  ready,
}: CachedResource): EntryCodec {
  const shape: EntryShape = { fieldLabels: selectableFields.map(({ label }) => label) };
  const selected = new SelectedValues(selectableFields);
  const namespaceOf = namespaced ? namespacesOf(prefix) : (key: string) => locateObject(key, prefix, false)?.namespace;
  const labelSets = new Interner<FlatLabels>(internedMax, parseLabels);
  const locate = (key: string) => locateObject(key, prefix, namespaced);

  return {
    locate,
    ready,
    decode(record, place = allocate) {
      const { key, value: stored, revision, stale, corrupt } = record;
      if (corrupt) throw corrupt;
      const namespace = namespaceOf(key);
      if (namespace === undefined) throw corruptObject(key, 'the key is not one of the resource');
      const value = normalised(key, stored, normalise);
      if (!selected.read(value) || !isUtf8(value)) throw corruptObject(key, 'the value is not a stored object');
      try {
        const labels = selected.labels(labelSets);
        const fields = selected.fields();
        const room = value === stored ? record.room : undefined;
        // Last: it changes the value.
        const at = inRoom(room, record, selected.metadata) ?? versioned(value, revision, place);
        return new (stale ? StaleEntry : ObjectEntry)(shape, { key, namespace, revision, at, labels, fields });
      } catch (cause) {
        throw corruptObject(key, 'the value is not a stored object', cause);
      } finally {
        selected.forget();
      }
    },
    restamp(entry, revision) {
      return asObjectEntry(entry).moved(
        spanOf(replaceResourceVersion(entry.bytes, entry.revision, revision)),
        revision,
      );
    },
    move(entry, place) {
      const at = place(entry.end - entry.start);
      entry.memory.copy(at.memory, at.start, entry.start, entry.end);
      return asObjectEntry(entry).moved(at);
    },
    at: (entry, span) => asObjectEntry(entry).moved(span),
  };
}

const asIs = (value: Uint8Array): Uint8Array => value;

function normalised(key: string, value: Uint8Array, normalise: (value: Uint8Array) => Uint8Array): Uint8Array {
  try {
    return normalise(value);
  } catch (cause) {
    throw corruptObject(key, 'the value is not a stored object', cause);
  }
}

function asObjectEntry(entry: CacheEntry): ObjectEntry {
  if (!(entry instanceof ObjectEntry)) throw new TypeError('an entry that another codec decoded');
  return entry;
}

/** Room in front of a stored value, beside its digits: for the rest of its resourceVersion, and for a comma. */
export const entryRoom = versionBytes(0);

/** The value and its resourceVersion, where they have exactly this room. `metadata`: where it starts in the value. */
function inRoom(
  room: ByteSpan | undefined,
  { value, revision }: Pick<StoreRecord, 'value' | 'revision'>,
  metadata: number,
): ByteSpan | undefined {
  if (!room || room.end - room.start !== 1 + versionBytes(revision)) return undefined;
  const { memory, start, end } = room;
  const at = { memory, start: end, end: end + value.length };
  memory[start] = comma;
  return { memory, start: insertVersionInRoom(at, end + metadata, revision), end: at.end };
}

/** Copies the stored bytes, with the resourceVersion inserted, into memory from `place`. */
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

/** The namespace in a key; undefined if that does not have the resource's form. Most keys have that of the one before. */
function namespacesOf(prefix: string): (key: string) => string | undefined {
  const namespaces = new Interner(internedMax, (text) => text);
  let last = '';
  let folder: string | undefined;
  return (key) => {
    if (folder !== undefined && isDirectlyIn(folder, key)) return last;
    const location = locateObject(key, prefix, true);
    if (!location) return undefined;
    last = namespaces.of(location.namespace);
    folder = `${prefix}${last}/`;
    return last;
  };
}

const isDirectlyIn = (folder: string, key: string): boolean =>
  key.startsWith(folder) && key.length > folder.length && key.indexOf('/', folder.length) < 0;

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

const noBytes = Buffer.alloc(0);

const isSamePath = (a: FieldPath, b: FieldPath): boolean =>
  a.length === b.length && a.every((step, at) => step === b[at]);

/** Extracts from an object's bytes the values that selectors read. Holds the results of the last `read`. */
class SelectedValues {
  readonly #scanner: ObjectScanner;
  readonly #fields: readonly SelectedField[];
  #bytes: Buffer = noBytes;

  constructor(fields: readonly SelectableField[]) {
    const paths: FieldPath[] = [['metadata', 'labels']];
    // Fields may share a path.
    const indexOf = (path: FieldPath): number => {
      const there = paths.findIndex((other) => isSamePath(other, path));
      return there >= 0 ? there : paths.push(path) - 1;
    };
    this.#fields = fields.map(({ paths: own, absent }) => ({
      absent,
      values: own.map((path) => ({
        path: indexOf(path),
        written: Buffer.alloc(repeatedBytesMax),
        length: 0,
        text: '',
      })),
      texts: new Interner(internedMax, unescaped),
    }));
    this.#scanner = new ObjectScanner(paths);
  }

  /** False if the bytes are not a stored object. */
  read(value: Uint8Array): boolean {
    this.#bytes = asBuffer(value);
    return this.#scanner.scan(value);
  }

  /** Lets go of the object that was read last: of thousands of resources, each would retain one more. */
  forget(): void {
    this.#bytes = noBytes;
    this.#scanner.forget();
  }

  /** Where the metadata starts. */
  get metadata(): number {
    return this.#scanner.metadata;
  }

  /** `sets`: by their JSON. */
  labels(sets: Interner<FlatLabels>): FlatLabels {
    const start = this.#scanner.start(0);
    return start < 0 ? noLabels : sets.ofBytes(this.#bytes, start, this.#scanner.end(0));
  }

  fields(): readonly string[] {
    return this.#fields.length === 0 ? noFields : this.#fields.map((field) => this.#textOf(field));
  }

  #textOf({ values, absent, texts }: SelectedField): string {
    for (const value of values) {
      const [start, end] = [this.#scanner.start(value.path), this.#scanner.end(value.path)];
      if (start < 0) continue;
      if (!isRepeated(value, this.#bytes, start, end)) {
        value.text = this.#scalar(texts, start, end);
        value.length = end - start <= repeatedBytesMax ? this.#bytes.copy(value.written, 0, start, end) : 0;
      }
      if (value.text !== '') return value.text;
    }
    return absent;
  }

  /** A string without its quotes, a number or boolean as written; empty for anything else. */
  #scalar(texts: Interner<string>, start: number, end: number): string {
    if (this.#bytes[start] === quote) return texts.ofBytes(this.#bytes, start + 1, end - 1);
    return /^(?:true|false|-?\d.*)$/.exec(this.#bytes.toString('latin1', start, end))?.[0] ?? '';
  }
}

const unescaped = (text: string): string => (text.includes('\\') ? JSON.parse(`"${text}"`) : text);

const noFields: readonly string[] = [];

/** Of a field that selectors read. */
interface SelectedField {
  /** What it is where the object has none of its values. */
  readonly absent: string;
  readonly values: readonly LastValue[];
  readonly texts: Interner<string>;
}

/** The value of the object before, as it was written: many objects in a row have the same node, phase or account. */
interface LastValue {
  /** Index of its path. */
  readonly path: number;
  readonly written: Buffer;
  length: number;
  text: string;
}

const repeatedBytesMax = 64;

/** Called for each field of each object that is loaded: a loop is faster than a call into the engine. */
function isRepeated({ written, length }: LastValue, bytes: Buffer, start: number, end: number): boolean {
  if (length !== end - start) return false;
  for (let index = 0; index < length; index++) if (written[index] !== bytes[start + index]) return false;
  return true;
}
