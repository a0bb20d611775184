import type { Caller } from '../base/caller.ts';
import type { ByteSpan } from '../base/collections/byte-span.ts';
import type { Closable } from '../base/disposable.ts';
import type { Clock } from '../base/time/clock.ts';
import type { SelectableField } from '../meta/selectable-field.ts';
import type { Revision, StoreRecord } from '../store/store.ts';
import type { CollectionMetrics } from './collection-metrics.ts';
import type { Encodings } from './encoding-memo.ts';

/**
 * A cached object: the JSON bytes sent to clients, including resourceVersion, and the values that selectors read. Immutable and
 * shared.
 */
export interface CacheEntry extends ByteSpan {
  /** Store key without the store's prefix: `/configmaps/<namespace>/<name>`. */
  readonly key: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly revision: Revision;
  /** See StoreRecord.stale. */
  readonly stale: boolean;
  /** View of the object's bytes, created on first use. For the length use `end - start`. */
  readonly bytes: Buffer;
  label(key: string): string | undefined;
  /** Value of a field by its field label (`metadata.name`, `spec.nodeName`); undefined if the kind has no such field. */
  field(label: string): string | undefined;
}

/**
 * Reports whether a request selects the entry. Called for every event and listed entry: must be cheap and free of side effects.
 */
export type EntryMatcher = (entry: CacheEntry) => boolean;

/** Field value that a selector requires. */
export interface RequiredField {
  /** The field's label, as selectors name it. */
  readonly label: string;
  readonly value: string;
}

export interface RangeOptions {
  /** Start after this key (exclusive). */
  readonly after?: string;
  /** End before this key (exclusive). */
  readonly before?: string;
}

/** End of a page: its last entry, the entry after it, and the number of entries after the page. */
export interface RangeCut {
  readonly last: CacheEntry;
  readonly next: CacheEntry;
  readonly remaining: number;
}

/** A collection at one revision. Immutable; cheap to hold for a short time. */
export interface Snapshot {
  readonly revision: Revision;
  /**
   * Store keys whose values do not decode as objects of the resource, with the revisions of those values. Excluded from entries
   * and counts; reads that would return one fail.
   */
  readonly corrupt: ReadonlyMap<string, Revision>;
  get(key: string): CacheEntry | undefined;
  /** Entries in the range whose key starts with `prefix`, in key order. */
  entries(prefix: string, options?: RangeOptions): IterableIterator<CacheEntry>;
  /**
   * Entries with this key prefix and field value, in key order. Cost is proportional to the result. Undefined if this snapshot
   * has no index on the field.
   */
  entriesWith(field: RequiredField, prefix: string, options?: RangeOptions): IterableIterator<CacheEntry> | undefined;
  /**
   * Bytes of the same entries in JSON array form: each span holds one entry, or several separated by commas. Cost is
   * proportional to the changes since the last call, plus a little for every fifty entries.
   */
  runs(prefix: string, options?: RangeOptions): IterableIterator<ByteSpan>;
  /**
   * End of the page that holds the first `limit` of the same entries; undefined if there are no more than `limit`. O(log n).
   */
  cut(prefix: string, options: RangeOptions, limit: number): RangeCut | undefined;
  /** Number of the same entries. O(log n). */
  count(prefix: string, options?: RangeOptions): number;
}

/** A watch event. All watchers of a change share one object, so that encodings can be cached on it. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** For DELETED: the last state, with the deletion's resourceVersion in its bytes. */
  readonly entry: CacheEntry;
  readonly revision: Revision;
  /** Encoded forms by format, filled by the first watcher that encodes. */
  readonly encodings: Encodings;
}

/** Receives a watcher's events, in order. Never called before `watch` has returned or after `closed`. */
export interface WatchSink {
  /** Accepts an event. If false, delivery pauses until `Watcher.resume`; further events wait in the watcher's buffer. */
  event(event: CacheEvent): boolean;
  /**
   * True if delivery pauses for work of the server, not for the client. The watch is then not `slow`, however much happens: events
   * beyond the buffer are read from history later.
   */
  readonly preparing?: boolean;
  /**
   * `slow`: the buffer overflowed. `compacted`: history no longer reaches back to the watch's position, or an object became
   * corrupt; the client must relist. `beyond`: the client must relist because the store has never issued the watch's start
   * revision. `closed`: the cache was closed, or the resource was removed from it. Not called after the owner has closed the
   * watcher.
   */
  closed(reason: 'slow' | 'compacted' | 'beyond' | 'closed'): void;
  /** Instead of `closed` for a watch whose objects cannot be converted to its version. Default: `closed('closed')`. */
  failed?(error: unknown): void;
}

export interface Watcher extends Closable {
  /**
   * Every event up to this revision has been passed to the sink; the revision for bookmarks. Computed on read, so that idle
   * watchers cost nothing. Do not read it inside `WatchSink.event`.
   */
  readonly revision: Revision;
  /** Delivers buffered events, then continues. */
  resume(): void;
}

export interface WatchOptions {
  /** Deliver events with a larger revision only. */
  readonly after: Revision;
  /** Restricts the watch to this namespace. */
  readonly namespace?: string;
  /** Restricts the watch to objects with this name. */
  readonly name?: string;
  /** Field value that `matches` requires. The watch then costs nothing when objects with other values change. */
  readonly requires?: RequiredField;
  /**
   * For state that the server itself decides by: events are delivered as changes are applied, in the same turn of the event loop
   * and before anybody else sees the new revision. Others may be notified later, and slow ones hold these up.
   */
  readonly immediate?: boolean;
  /** Selects objects. ADDED and DELETED are sent when an object starts or stops matching. Default: all objects. */
  readonly matches?: EntryMatcher;
}

/** The objects of one resource. */
export interface Collection {
  /** Key prefix of the resource: `/configmaps/`. */
  readonly prefix: string;
  readonly metrics: CollectionMetrics;
  /** That of the store that holds the objects: revisions of theirs are revisions of it. */
  readonly line: RevisionLine;
  /** Identifies the form of all entries; undefined while they are brought into another one, see `WatchCache.changeResource`. */
  readonly form: object | undefined;
  get(key: string): CacheEntry | undefined;
  /** To be waited for before records are decoded. */
  readonly ready: Readiness;
  /** Decodes a record read from the store, for versions that are no longer cached. */
  decode(record: StoreRecord): CacheEntry;
  /** The current state of the collection. */
  snapshot(): Snapshot;
  /** The collection at a past revision; undefined if it is no longer cached. */
  snapshotAt(revision: Revision): Snapshot | undefined;
  /**
   * Delivers events after `after` exactly once: from the cache's history, from the store's if the cache's does not reach back
   * far enough, then live. If the store's history is too short as well, the sink is closed with `compacted`.
   *
   * An `after` in the future is awaited for `limits.futureRevisionWaitMs`, since other servers of the store may be ahead. If
   * the store has not reached it by then, it was issued by another store, and the sink is closed with `beyond`.
   */
  watch(options: WatchOptions, sink: WatchSink): Watcher;
  /**
   * For a resource that will be removed: none of its watches is `slow` from now on, since it could not be opened again. Events
   * beyond the buffer are read from history later.
   */
  keepSlowWatches(): void;
  /** An open watch has not passed on all that happened to the objects. O(open watches). */
  readonly hasLaggingWatches: boolean;
}

/** A resource, as the cache needs to know it. */
export interface CachedResource {
  /** Key prefix, such as `/core/configmaps/`; `<namespace>/<name>` follows, or `<name>` for cluster-scoped resources. */
  readonly prefix: string;
  readonly namespaced: boolean;
  /** In addition to `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly SelectableField[];
  /**
   * Brings a stored value into the form that clients get: custom resources are pruned and get their defaults when they are
   * read. Returns the same bytes if nothing is to be done; throws if the value is no object. Default: values are sent as they
   * are stored.
   */
  readonly normalise?: ((value: Uint8Array) => Uint8Array) | undefined;
  /** Resolves when `normalise` can be called, for this value: what it needs may take long to make. */
  readonly ready?: Readiness | undefined;
}

/** Waits for what is made in slices of time, also of one value if it is large. Undefined if there is nothing to wait for. */
export type Readiness = (clock: Pick<Clock, 'monotonic'>, value?: Uint8Array) => Promise<void> | undefined;

/** Backpressure from the senders of watch events: the promise resolves when they can accept more. Undefined: not throttled. */
export type Throttle = () => Promise<void> | undefined;

/** Whether a cache has what was acknowledged. */
export interface Freshness {
  /** True if the cache is known, without querying the store, to contain all writes acknowledged before the call. */
  isFresh(): boolean;
  /**
   * Waits until the cache contains all writes acknowledged before the call. Concurrent calls share one round trip. Rejects with
   * the signal's reason, or with StoreError `unavailable` if the store does not answer in time.
   */
  fresh(signal?: AbortSignal): Promise<unknown>;
  /**
   * The same for one caller, by its signal: waits at its first question, for what was acknowledged before that, and undefined
   * from then on; undefined, too, if nothing has to be waited for, or the caller is local.
   */
  freshFor(caller: Pick<Caller, 'signal' | 'local'>): Promise<void> | undefined;
}

/** How far a cache is in the history of one store. Each store counts revisions of its own. */
export interface RevisionLine extends Freshness {
  /** The cache contains every change up to this revision. */
  readonly revision: Revision;
  /** Resolves to true when `revision` is reached; to false after `waitMs` or on abort. */
  waitFor(revision: Revision, waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** See `Freshness`. Resolves to the revision of the store that the cache has reached. */
  fresh(signal?: AbortSignal): Promise<Revision>;
}

/**
 * The objects of all resources, in one store or in several. It is fresh when it has all that the server decides by; who reads the
 * objects of a resource asks the line of that collection.
 */
export interface ObjectCache extends Freshness {
  /** Resolves when all resources are loaded. Rejects and closes the cache if the store cannot be read. */
  ready(): Promise<void>;
  /** Resolves when the resource is loaded. Its prefix must not overlap another's. */
  addResource(resource: CachedResource): Promise<void>;
  /**
   * Removes a resource. Its watches, and watches opened on it later, are closed with `closed`; existing snapshots stay valid.
   * Cost depends on this resource only.
   */
  removeResource(prefix: string): void;
  /**
   * Reads a resource of the cache anew, with other selectable fields or in another form. Its watches go on: an object that is
   * only shown in another way has not changed. Until it resolves, reads see the resource as it was, or in part.
   */
  changeResource(resource: CachedResource): Promise<void>;
  /** Reloads a resource from the store because its cached state is wrong. Its watches are closed with `compacted`. */
  reload(prefix: string): Promise<void>;
  /** Throws if no such resource was added. The collection is empty until the resource is loaded. */
  collection(prefix: string): Collection;
  /** The collections of all loaded resources. */
  collections(): readonly Collection[];
  /** Number of open watchers. */
  readonly watchers: number;
  /** Pauses the fan-out whenever the throttle returns a promise. */
  throttle(throttle: Throttle): Closable;
  close(): Promise<void>;
}

/** The cache of one store. */
export interface WatchCache extends ObjectCache, RevisionLine {
  /** Since when the store's changes cannot be followed and reloading fails, on the monotonic clock; undefined if they can. */
  readonly lostSinceMs: number | undefined;
  fresh(signal?: AbortSignal): Promise<Revision>;
}
