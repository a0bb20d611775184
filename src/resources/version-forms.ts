import type { Caller } from '../base/caller.ts';
import { ownText } from '../base/collections/byte-span.ts';
import { identityOf } from '../base/collections/shared-content.ts';
import { limits } from '../base/limits.ts';
import type { TimeSlice } from '../base/time/time-slice.ts';
import { untilAborted } from '../base/time/until-aborted.ts';
import type { CacheEntry, Collection, Watcher, WatchOptions, WatchSink } from '../cache/cache.ts';
import { EncodingMemo, type Encodings } from '../cache/encoding-memo.ts';
import type { GroupVersionKind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { ConvertingSink } from './converting-sink.ts';
import { askingFor, type ConversionCaller, encodedInVersion } from './custom-versions.ts';

/** Converted encodings by cache entry, under one memory budget for all versions. */
const memo = new EncodingMemo(limits.versionFormsBytesMax);
const byEntry = new WeakMap<CacheEntry, Encodings>();

/** How objects as they are stored are brought into a version. */
export type ConvertStored =
  /** Returns the same object if there is no difference. */
  | {
      readonly type: 'now';
      readonly convert: (stored: ApiObject) => ApiObject;
      readonly heavy?: HeavyConvert | undefined;
    }
  /** Somebody else is asked. Encoded objects, at most `limits.conversionObjectsMax`, none of which is in this version. */
  | {
      readonly type: 'later';
      readonly convert: (stored: readonly Buffer[], caller: ConversionCaller) => Promise<readonly Buffer[]>;
    };

/** Conversion, elsewhere, of what would hold the event loop too long. */
export interface HeavyConvert {
  readonly takes: (stored: Uint8Array) => boolean;
  readonly convert: (stored: Buffer, owner: unknown) => Promise<Buffer>;
}

/** The first bytes of an object of this kind as it is stored, see `encodeObject`. */
const headOf = (kind: GroupVersionKind): Buffer =>
  ownText(`{"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(apiVersionOf(kind))},`);

/** The result of a conversion that may have to be waited for. */
type Bytes = Buffer | Promise<Buffer>;

/** A resource's objects in a version other than the stored one. Conversion is lazy. */
export class VersionForms {
  #form: Form;
  /** How an object begins that is stored in this version, if there are some. */
  readonly #head: Buffer | undefined;

  /** Open watches in this version. */
  readonly #open = new Set<{ end(): void }>();

  /** Of custom resources: some objects are stored as `kind`, and are never converted. */
  constructor(convert: ConvertStored, kind?: GroupVersionKind) {
    this.#head = kind && headOf(kind);
    this.#form = new Form(convert, this.#head);
  }

  /** Converts in another way from now on; open watches go on. */
  change(convert: ConvertStored): void {
    this.#form = new Form(convert, this.#head);
  }

  /** Converts the encoded stored object of a built-in kind to the bytes that a client of this version receives. */
  bytes(stored: Buffer): Buffer {
    return this.#form.bytes(stored);
  }

  /** The same of any kind. */
  converted(stored: Buffer, caller: ConversionCaller): Bytes {
    const form = this.#form;
    return form.isAtOnce(stored) ? form.bytes(stored) : form.ask(stored, caller);
  }

  /** The bytes of an entry in this version, cached while the memory budget allows. */
  bytesOf(stored: CacheEntry, caller: ConversionCaller): Bytes {
    const form = this.#form;
    return form.known(stored) ?? form.askAll([stored], caller).then(([bytes]) => bytes as Buffer);
  }

  /**
   * The entries in this version. What must be waited for is converted when it resolves, in batches, one after the other; the
   * rest when its bytes are read. Selectors see labels and fields of the stored form.
   */
  async entries(stored: Iterable<CacheEntry>, slice: TimeSlice, caller: Caller): Promise<Iterable<CacheEntry>> {
    const form = this.#form;
    /** Entries that are as they are stored are converted when they are read. */
    const made: CacheEntry[] = [];
    /** Entries to be asked for, and where they belong. */
    let [batch, places, bytes]: [CacheEntry[], number[], number] = [[], [], 0];
    const finish = async (): Promise<void> => {
      const converted = await untilAborted(form.askAll(batch, caller), caller.signal);
      for (const [index, entry] of batch.entries()) {
        made[places[index] as number] = new ConvertedEntry(entry, converted[index] as Buffer);
      }
      [batch, places, bytes] = [[], [], 0];
    };
    for (const entry of stored) {
      if (slice.over) await slice.next();
      if (form.isLight(entry)) {
        made.push(entry);
        continue;
      }
      const known = form.known(entry);
      made.push(known ? new ConvertedEntry(entry, known) : entry);
      if (known) continue;
      batch.push(entry);
      places.push(made.length - 1);
      bytes += entry.end - entry.start;
      if (batch.length === limits.conversionObjectsMax || bytes >= limits.conversionBytesMax) await finish();
    }
    if (batch.length > 0) await finish();
    return form.shown(made);
  }

  /** Watches the collection in this version, until `end`. */
  watch(collection: Collection, options: WatchOptions, sink: WatchSink): Watcher {
    const converting = new ConvertingSink(sink, {
      known: (entry) => {
        const form = this.#form;
        if (form.isLight(entry)) return new ConvertedEntry(entry, () => form.bytesOf(entry));
        const bytes = form.known(entry);
        return bytes && new ConvertedEntry(entry, bytes);
      },
      convert: async (entries) => {
        const converted = await this.#form.askAll(entries, {});
        return entries.map((entry, index) => new ConvertedEntry(entry, converted[index] as Buffer));
      },
      ended: () => void this.#open.delete(converting),
    });
    const watcher = collection.watch(options, converting);
    this.#open.add(converting);
    return converting.follow(watcher);
  }

  /** Ends all watches in this version, when it is no longer served. */
  end(): void {
    for (const open of [...this.#open]) open.end();
  }
}

/** One way to convert. Another one has results of its own. */
class Form {
  readonly convert: ConvertStored;
  readonly #head: Buffer | undefined;
  /** Key of the results in the memo: a later version of the same name may convert differently. */
  readonly #name: string;
  /** What others are asked for at present. */
  readonly #asked = new Map<CacheEntry, Promise<Buffer>>();

  constructor(convert: ConvertStored, head: Buffer | undefined) {
    this.convert = convert;
    this.#head = head;
    this.#name = String(identityOf(convert));
  }

  /** True if nothing has to be waited for, by its size: it is converted when it is read. */
  isLight(stored: CacheEntry): boolean {
    const { convert } = this;
    if (convert.type === 'later') return false;
    return stored.end - stored.start <= limits.lightBytesMax || !convert.heavy?.takes(stored.bytes);
  }

  /** True if `bytes` converts it. */
  isAtOnce(stored: Buffer): boolean {
    const { convert } = this;
    return this.isHere(stored) || (convert.type === 'now' && !convert.heavy?.takes(stored));
  }

  /** True of bytes that are known to be in this version. */
  isHere(stored: Buffer): boolean {
    return this.#head !== undefined && stored.subarray(0, this.#head.length).equals(this.#head);
  }

  bytes(stored: Buffer): Buffer {
    if (this.isHere(stored)) return stored;
    if (this.convert.type === 'later') throw new TypeError('somebody else converts');
    return encodedInVersion(stored, this.convert.convert);
  }

  bytesOf(stored: CacheEntry): Buffer {
    return this.known(stored) ?? this.#keep(stored, this.bytes(stored.bytes));
  }

  /** The bytes of an entry, if nothing has to be waited for. */
  known(stored: CacheEntry): Buffer | undefined {
    const { bytes } = stored;
    if (this.isHere(bytes)) return bytes;
    const found = byEntry.get(stored)?.get(this.#name);
    return found ?? (this.isAtOnce(bytes) ? this.#keep(stored, this.bytes(bytes)) : undefined);
  }

  /** Entries, of which those that are as they are stored are converted when their bytes are read. */
  *shown(entries: readonly CacheEntry[]): IterableIterator<CacheEntry> {
    for (const entry of entries) {
      yield entry instanceof ConvertedEntry ? entry : new ConvertedEntry(entry, () => this.bytesOf(entry));
    }
  }

  #keep(stored: CacheEntry, bytes: Buffer): Buffer {
    let forms = byEntry.get(stored);
    if (!forms) {
      forms = memo.forEvent();
      byEntry.set(stored, forms);
    }
    forms.set(this.#name, bytes);
    return bytes;
  }

  async ask(stored: Buffer, caller: ConversionCaller): Promise<Buffer> {
    const { convert } = this;
    if (convert.type === 'now') return convert.heavy?.convert(stored, caller.owner) ?? this.bytes(stored);
    const [bytes] = await askingFor(caller, () => convert.convert([stored], caller));
    return bytes as Buffer;
  }

  /** The bytes of entries, in their order. What is known or asked for already is not asked for again. */
  askAll(stored: readonly CacheEntry[], caller: ConversionCaller): Promise<readonly Buffer[]> {
    const found = stored.map((entry) => this.known(entry));
    if (found.every((bytes) => bytes !== undefined)) return Promise.resolve(found);
    const ask = (): Promise<readonly Buffer[]> => this.#askFor(stored, found, caller);
    return this.convert.type === 'later' ? askingFor(caller, ask) : ask();
  }

  #askFor(
    stored: readonly CacheEntry[],
    found: readonly (Buffer | undefined)[],
    caller: ConversionCaller,
  ): Promise<readonly Buffer[]> {
    const { convert } = this;
    const missing = stored.filter((entry, index) => !found[index] && !this.#asked.has(entry));
    const objects = missing.map(({ bytes }) => bytes);
    if (convert.type === 'later' && missing.length > 0) {
      const asked = convert.convert(objects, caller);
      for (const [index, entry] of missing.entries()) {
        this.#await(
          entry,
          asked.then((made) => made[index] as Buffer),
        );
      }
    } else {
      for (const [index, entry] of missing.entries()) this.#await(entry, this.ask(objects[index] as Buffer, caller));
    }
    return Promise.all(stored.map((entry, index) => found[index] ?? (this.#asked.get(entry) as Promise<Buffer>)));
  }

  #await(entry: CacheEntry, asked: Promise<Buffer>): void {
    const kept = asked.then((bytes) => this.#keep(entry, bytes)).finally(() => void this.#asked.delete(entry));
    this.#asked.set(entry, kept);
  }
}

/** An entry in another version. */
class ConvertedEntry implements CacheEntry {
  readonly #stored: CacheEntry;
  readonly #bytes: Buffer | (() => Buffer);

  constructor(stored: CacheEntry, bytes: Buffer | (() => Buffer)) {
    this.#stored = stored;
    this.#bytes = bytes;
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
    return typeof this.#bytes === 'function' ? this.#bytes() : this.#bytes;
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
