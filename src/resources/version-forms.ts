import { identityOf } from '../base/collections/shared-content.ts';
import { limits } from '../base/limits.ts';
import type { CacheEntry, Collection, Watcher, WatchOptions, WatchSink } from '../cache/cache.ts';
import { EncodingMemo, type Encodings } from '../cache/encoding-memo.ts';
import { encodeObject, parseStored } from '../codec/json.ts';
import { insertResourceVersion } from '../codec/object-bytes.ts';
import type { GroupVersionKind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';

/** Converted encodings by cache entry, under one memory budget for all versions. */
const memo = new EncodingMemo(limits.versionFormsBytesMax);
const byEntry = new WeakMap<CacheEntry, Encodings>();

type ConvertStored = (stored: ApiObject) => ApiObject;

/** The first bytes of an object of this kind as it is stored, see `encodeObject`. */
const headOf = (kind: GroupVersionKind): Buffer =>
  Buffer.from(`{"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(apiVersionOf(kind))},`);

/** Unique to the function: a later version of the same name may convert differently. */
const nameOf = (convert: ConvertStored): string => String(identityOf(convert));

/** A resource's objects in a version other than the stored one. Conversion is lazy. */
export class VersionForms {
  #convert: ConvertStored;
  /** Key of this version in the memo. */
  #name: string;
  /** How an object begins that is stored in this version, if there are some. */
  readonly #head: Buffer | undefined;

  /** Open watches in this version. */
  readonly #open = new Set<{ end(): void }>();

  /** Of custom resources: some objects are stored as `kind`, and `convert` returns them as they are. */
  constructor(convert: ConvertStored, kind?: GroupVersionKind) {
    this.#convert = convert;
    this.#head = kind && headOf(kind);
    this.#name = nameOf(convert);
  }

  /** Converts in another way from now on; open watches go on. */
  change(convert: ConvertStored): void {
    this.#convert = convert;
    this.#name = nameOf(convert);
  }

  /** True of bytes that are known to be in this version. */
  #isHere(stored: Buffer): boolean {
    return this.#head !== undefined && stored.subarray(0, this.#head.length).equals(this.#head);
  }

  /** Converts the encoded stored object to the bytes that a client of this version receives. */
  bytes(stored: Buffer): Buffer {
    if (this.#isHere(stored)) return stored;
    const object = parseStored(stored) as ApiObject;
    const converted = this.#convert(object);
    if (converted === object) return stored;
    const encoded = encodeObject(converted);
    // An object of a dry run was never stored and has no resourceVersion.
    const { resourceVersion } = object.metadata;
    return resourceVersion === undefined ? encoded : insertResourceVersion(encoded, Number(resourceVersion));
  }

  /** The entry in this version, converted on first access to its bytes. Selectors see labels and fields of the stored form. */
  entry(stored: CacheEntry): CacheEntry {
    return new ConvertedEntry(stored, this);
  }

  *entries(stored: Iterable<CacheEntry>): IterableIterator<CacheEntry> {
    for (const entry of stored) yield this.entry(entry);
  }

  /** Watches the collection in this version, until `end`. */
  watch(collection: Collection, options: WatchOptions, sink: WatchSink): Watcher {
    const watcher = collection.watch(options, {
      event: (event) => sink.event({ ...event, entry: this.entry(event.entry) }),
      closed: (reason) => {
        this.#open.delete(open);
        sink.closed(reason);
      },
    });
    const close = (): void => {
      this.#open.delete(open);
      watcher.close();
    };
    const open = {
      end() {
        close();
        sink.closed('closed');
      },
    };
    this.#open.add(open);
    return {
      get revision() {
        return watcher.revision;
      },
      resume: () => watcher.resume(),
      close,
    };
  }

  /** Ends all watches in this version, when it is no longer served. */
  end(): void {
    for (const open of [...this.#open]) open.end();
  }

  /** The bytes of an entry in this version, cached while the memory budget allows. */
  bytesOf(stored: CacheEntry): Buffer {
    if (this.#isHere(stored.bytes)) return stored.bytes;
    let forms = byEntry.get(stored);
    if (!forms) {
      forms = memo.forEvent();
      byEntry.set(stored, forms);
    }
    let bytes = forms.get(this.#name);
    if (!bytes) {
      bytes = this.bytes(stored.bytes);
      forms.set(this.#name, bytes);
    }
    return bytes;
  }
}

class ConvertedEntry implements CacheEntry {
  readonly #stored: CacheEntry;
  readonly #forms: VersionForms;

  constructor(stored: CacheEntry, forms: VersionForms) {
    this.#stored = stored;
    this.#forms = forms;
  }

  get key(): string {
    return this.#stored.key;
  }

  get namespace(): string {
    return this.#stored.namespace;
  }

  get name(): string {
    return this.#stored.name;
  }

  get revision(): number {
    return this.#stored.revision;
  }

  get stale(): boolean {
    return this.#stored.stale;
  }

  get bytes(): Buffer {
    return this.#forms.bytesOf(this.#stored);
  }

  get memory(): Buffer {
    return this.bytes;
  }

  get start(): number {
    return 0;
  }

  get end(): number {
    return this.bytes.length;
  }

  label(key: string): string | undefined {
    return this.#stored.label(key);
  }

  field(label: string): string | undefined {
    return this.#stored.field(label);
  }
}
