import { compareKeys } from '../base/collections/key-order.ts';
import { SortedEntries } from '../base/collections/sorted-entries.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Change, Revision, StoreRecord } from '../store/store.ts';
import type {
  CachedResource,
  CacheEntry,
  Collection,
  Readiness,
  RevisionLine,
  Snapshot,
  Watcher,
  WatchOptions,
  WatchSink,
} from './cache.ts';
import { ObjectChange } from './change.ts';
import type { CollectionMetrics, CollectionMetricsOf } from './collection-metrics.ts';
import { CollectionSnapshot } from './collection-snapshot.ts';
import type { EncodingMemo } from './encoding-memo.ts';
import type { EntryCodec, Place } from './entries/entry-codec.ts';
import {
  isNext,
  ownMemory,
  type SlabMemory,
  SlabSequence,
  scatteredStretches,
  slabBytes,
  WrittenPlaces,
} from './entries/slab.ts';
import { FieldIndex } from './field-index.ts';
import { History } from './history.ts';
import type { BudgetedHistory, HistoryBudget } from './history-budget.ts';
import { type CollectionState, PastStates } from './past-states.ts';
import { foundPlaces, type KeyStretch, placesOf, type SharedPlaces } from './sharing/shared-entries.ts';
import { type SharedSlabs, sharedMemoryOf } from './sharing/shared-slabs.ts';
import type { ObjectWatcher, WatchedCollection } from './watching/object-watcher.ts';

/** The cache, as its collections see it. */
export interface CollectionHost extends RevisionLine {
  readonly logger: Logger;
  readonly historyBudget: HistoryBudget;
  readonly encodings: EncodingMemo;
  readonly metricsOf: CollectionMetricsOf;
  watch(collection: ResourceCollection, options: WatchOptions, sink: WatchSink): Watcher;
  /** Called for each corrupt value found. */
  foundCorrupt(): void;
}

/** A resource as read from the store at one revision. */
export interface LoadedState {
  readonly revision: Revision;
  readonly entries: SortedEntries<CacheEntry>;
  readonly corrupt: ReadonlyMap<string, Revision>;
  /** What decoded it. Entries of another one are in another form. */
  readonly codec: EntryCodec;
}

/** What is looked at in one turn when entries are moved. */
const stretchBytes = 2 * slabBytes;

/** A store change as seen by watchers. 'corrupt': the new state cannot be delivered. */
export type WatchedChange = ObjectChange | 'corrupt';

/** The current objects of one resource and its recent past. Modified by the cache only, in synchronous steps. */
export class ResourceCollection implements Collection, WatchedCollection, BudgetedHistory {
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly metrics: CollectionMetrics;
  readonly history: History;
  #codec: EntryCodec;
  /** What decoded the entries, if it is one. */
  #installed: EntryCodec | undefined;
  readonly #host: CollectionHost;
  readonly #past = new PastStates({ countMax: limits.cacheSnapshotsMax, ageMsMax: limits.historyMs });
  /** Open watches of the collection. */
  readonly watchers = new Set<ObjectWatcher>();
  #keepsSlowWatches = false;
  #loaded = false;
  #removed = false;
  #entries = SortedEntries.empty<CacheEntry>();
  /** Undefined if no field is indexed. */
  #index: FieldIndex | undefined;
  /** The index after the next installation. */
  #nextIndex: FieldIndex | undefined;
  #corrupt: ReadonlyMap<string, Revision> = new Map();
  /** Immutable view of the current state, created on demand. */
  #state: CollectionState | undefined;
  /** First revision at which the collection is as it is now. */
  #since: Revision = 0;
  /** Entries written since the last compaction of memory, and where they were put. */
  #scattered = 0;
  readonly #written = new WrittenPlaces();
  /** The batch of the last change. */
  #batch: object | undefined;

  constructor(
    host: CollectionHost,
    resource: Pick<CachedResource, 'prefix' | 'namespaced' | 'selectableFields'> & { readonly codec: EntryCodec },
  ) {
    this.#host = host;
    this.prefix = resource.prefix;
    this.namespaced = resource.namespaced;
    this.metrics = host.metricsOf(resource.prefix);
    this.#codec = resource.codec;
    this.history = new History(
      {
        eventsMax: limits.cacheHistoryEventsMax,
        bytesMax: limits.cacheHistoryBytesMax,
        ageMsMax: limits.historyMs,
      },
      0,
      (bytes) => host.historyBudget.changed(bytes),
    );
    host.historyBudget.add(this);
    this.#nextIndex = indexOf(resource);
    this.#index = this.#nextIndex;
  }

  get line(): RevisionLine {
    return this.#host;
  }

  get codec(): EntryCodec {
    return this.#codec;
  }

  /** Decodes what comes from now on in another way. What is there follows with the next installation. */
  reshape(resource: Pick<CachedResource, 'selectableFields'> & { readonly codec: EntryCodec }): void {
    this.#codec = resource.codec;
    this.#nextIndex = indexOf(resource);
  }

  get form(): object | undefined {
    return this.#installed === this.#codec ? this.#codec : undefined;
  }

  keepSlowWatches(): void {
    this.#keepsSlowWatches = true;
  }

  get keepsSlowWatches(): boolean {
    return this.#keepsSlowWatches;
  }

  get hasLaggingWatches(): boolean {
    for (const watcher of this.watchers) if (watcher.revision < this.#since) return true;
    return false;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** True once the cache no longer serves the resource. */
  get removed(): boolean {
    return this.#removed;
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  snapshot(): Snapshot {
    return new CollectionSnapshot(this.#current(), this.#host.revision);
  }

  snapshotAt(revision: Revision): Snapshot | undefined {
    if (!this.#loaded || revision > this.#host.revision) return undefined;
    const state = revision >= this.#since ? this.#current() : this.#past.at(revision);
    return state && new CollectionSnapshot(state, revision);
  }

  watch(options: WatchOptions, sink: WatchSink): Watcher {
    return this.#host.watch(this, options, sink);
  }

  /** See `CachedResource.ready`. */
  get isLazy(): boolean {
    return this.#codec.ready !== undefined;
  }

  readonly ready: Readiness = (clock, value) => this.#codec.ready?.(clock, value);

  decode(record: StoreRecord): CacheEntry {
    return this.codec.decode(record);
  }

  /** Replaces the whole content with the state read from the store. */
  install(loaded: LoadedState): void {
    this.#installed = loaded.codec;
    this.#entries = loaded.entries;
    this.#scattered = 0;
    this.#index = this.#nextIndex;
    this.#fillIndex();
    this.#corrupt = loaded.corrupt;
    this.#state = undefined;
    this.#since = loaded.revision;
    this.#past.clear();
    this.history.reset(loaded.revision);
    this.#loaded = true;
    this.metrics.initializations.add();
  }

  /**
   * Applies a change. Changes come in order; no past state is kept between changes of one `batch`. Returns the change for the
   * watchers; undefined if there is nothing to deliver.
   */
  apply(change: Change, batch: object, now: number): WatchedChange | undefined {
    if (batch !== this.#batch) this.#keepState(change.revision - 1, now);
    this.#batch = batch;
    this.#since = change.revision;
    this.#state = undefined;
    const held = change.type === 'create' ? undefined : this.#entries.get(change.key);
    const watched = this.watched(change, held, this.#written.place);
    this.#replaceState(change, watched);
    if (watched === 'corrupt') this.history.reset(change.revision);
    else if (watched) this.history.push(watched, now);
    return watched;
  }

  get historyBytes(): number {
    return this.history.bytes;
  }

  shrinkHistory(bytesMax: number): void {
    this.history.shrink(bytesMax);
    this.#past.dropBefore(this.history.floor);
  }

  /** Releases all memory. Nothing is applied afterwards. */
  release(): void {
    this.#removed = true;
    this.history.reset(this.#host.revision);
    this.#host.historyBudget.remove(this);
    this.#entries = SortedEntries.empty();
    this.#index?.clear();
    this.#corrupt = new Map();
    this.#state = undefined;
    this.#past.clear();
  }

  /** Drops history and past states that are too old. */
  trim(now: number): void {
    this.history.trim(now);
    this.#past.trim(now, this.history.floor);
  }

  /** True if enough entries are separated from their neighbours in memory to slow down lists and the allocator. */
  get scattered(): boolean {
    return this.#scattered > limits.cacheScatteredMin && this.#scattered > this.#entries.size / 16;
  }

  /** Called before the entries are moved next to each other again. */
  gathers(): void {
    this.#scattered = 0;
    this.#written.reset();
  }

  /**
   * Moves entries next to each other in memory where they are not, of a stretch of a few slabs after the key `after`. Returns
   * the last key as the next `after`; undefined at the end.
   */
  compact(after: string | undefined, memory: SlabMemory = ownMemory): string | undefined {
    const { entries, isLast } = this.#stretch(after);
    this.#gather(entries, memory);
    return isLast ? undefined : entries.at(-1)?.key;
  }

  /** The keys of a stretch after the key `after`, to ask other threads about; undefined at the end. */
  stretchAfter(after: string | undefined): KeyStretch | undefined {
    const { entries } = this.#stretch(after);
    const [first, last] = [entries[0], entries.at(-1)];
    return first && last && { prefix: this.prefix, first: first.key, last: last.key };
  }

  /** Where the entries of a stretch lie, for other threads. They are moved to shared slabs if they are not there yet. */
  share({ first, last }: KeyStretch, { allocate }: SharedSlabs): SharedPlaces {
    this.#gather(this.#between(first, last), allocate, (memory) => sharedMemoryOf(memory) !== undefined);
    return placesOf(this.#between(first, last));
  }

  /** Uses the memory of other threads where it has the same bytes. */
  adopt({ first, last }: KeyStretch, places: SharedPlaces, slabs: SharedSlabs): void {
    const entries = [...this.#between(first, last)];
    for (const { index, span } of foundPlaces(entries, places, slabs)) {
      this.#move(this.codec.at(entries[index] as CacheEntry, span));
    }
  }

  /** A few slabs' worth of entries. Ends between two that are no neighbours in memory, if there are such. */
  #stretch(after: string | undefined): { readonly entries: readonly CacheEntry[]; readonly isLast: boolean } {
    const entries: CacheEntry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.range({ key: after ?? this.prefix, exclusive: after !== undefined }, undefined)) {
      const last = entries.at(-1);
      if (bytes >= stretchBytes && last && (!isNext(last, entry) || bytes >= 2 * stretchBytes)) {
        return { entries, isLast: false };
      }
      entries.push(entry);
      bytes += entry.end - entry.start + 1;
    }
    return { entries, isLast: true };
  }

  *#between(first: string, last: string): IterableIterator<CacheEntry> {
    for (const entry of this.#entries.range({ key: first, exclusive: false }, undefined)) {
      if (compareKeys(entry.key, last) > 0) return;
      yield entry;
    }
  }

  #gather(entries: Iterable<CacheEntry>, memory: SlabMemory, stays?: (memory: Buffer) => boolean): void {
    for (const stretch of [...scatteredStretches(entries, stays)]) {
      const slabs = new SlabSequence(
        stretch.reduce((sum, { start, end }) => sum + end - start + 1, 0),
        memory,
      );
      for (const entry of stretch) this.#move(this.codec.move(entry, slabs.place));
    }
  }

  /** The entry of a key, elsewhere in memory. */
  #move(moved: CacheEntry): void {
    this.#index?.replace(this.#entries.set(moved), moved);
    // The cached state refers to the entries at their old location.
    this.#state = undefined;
  }

  /** `held`: the cached entry of the key before the change, if available. `place`: where the one after it is put. */
  watched(change: Change, held?: CacheEntry, place?: Place): WatchedChange | undefined {
    const location = this.codec.locate(change.key);
    if (!location) return change.type === 'delete' ? undefined : 'corrupt';
    const before = change.type === 'create' ? undefined : change.previous;
    const previous = before && (held?.revision === before.revision ? held : this.tryDecode(before));
    const entry = change.type === 'delete' ? undefined : this.tryDecode(change, place);
    if (change.type !== 'delete' && !entry) return 'corrupt';
    if (!entry && !previous) return undefined;
    const parts = { revision: change.revision, entry, previous, encodings: this.#host.encodings };
    return new ObjectChange(this.codec, location, parts);
  }

  /** Undefined for a corrupt record. */
  tryDecode(record: StoreRecord, place?: Place): CacheEntry | undefined {
    try {
      return this.codec.decode(record, place);
    } catch {
      // The cause is logged when the record enters the state.
      return undefined;
    }
  }

  /** Logs a corrupt record and what the store says of it, without its value, which may be secret. */
  reportCorrupt({ key, revision, corrupt }: Pick<StoreRecord, 'key' | 'revision' | 'corrupt'>): void {
    const problem = corrupt?.cause instanceof Error ? corrupt.cause.message : undefined;
    const where = { key, revision, ...(problem !== undefined && { problem }) };
    this.#host.logger.error('the store holds a value that is no object of the resource', where);
    this.metrics.undecoded.add();
    this.#host.foundCorrupt();
  }

  #replaceState(change: Change, watched: WatchedChange | undefined): void {
    const { key, revision } = change;
    if (watched === 'corrupt') {
      const lost = this.#entries.delete(key);
      this.#index?.replace(lost, undefined);
      this.#corrupt = new Map(this.#corrupt).set(key, revision);
      this.reportCorrupt(change);
      return;
    }
    if (this.#corrupt.has(key)) {
      const rest = new Map(this.#corrupt);
      rest.delete(key);
      this.#corrupt = rest;
    }
    const entry = watched?.entry;
    const replaced = entry ? this.#entries.set(entry) : this.#entries.delete(key);
    if (entry) this.#scattered++;
    this.#index?.replace(replaced, entry);
  }

  #fillIndex(): void {
    this.#index?.fill(() => this.#entries.range({ key: this.prefix, exclusive: false }, undefined));
  }

  #current(): CollectionState {
    this.#state ??= this.#newState();
    return this.#state;
  }

  #newState(): CollectionState {
    const state: CollectionState = {
      entries: this.#entries.snapshot(),
      corrupt: this.#corrupt,
      // The index reflects the current state only. Past states are scanned.
      find: (field) => (this.#state === state ? this.#index?.find(field) : undefined),
    };
    return state;
  }

  #keepState(to: Revision, now: number): void {
    if (to >= this.#since) this.#past.push({ from: this.#since, to, state: this.#current(), heldSince: now });
    this.#past.trim(now, this.history.floor);
  }
}

function indexOf({ selectableFields }: Pick<CachedResource, 'selectableFields'>): FieldIndex | undefined {
  const indexed = selectableFields.filter((field) => field.indexed).map(({ label }) => label);
  return indexed.length > 0 ? new FieldIndex(indexed) : undefined;
}
