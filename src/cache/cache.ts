import type { ByteSpan } from '../base/byte-span.ts';
import type { Closable } from '../base/disposable.ts';
import type { SelectableField } from '../meta/selectable-field.ts';
import type { Revision, StoreRecord } from '../store/store.ts';
import type { Encodings } from './encoding-memo.ts';

/**
 * One object as the cache holds it: the JSON bytes that a client receives, with its resourceVersion in place, and what
 * selectors look at. Immutable and shared.
 */
export interface CacheEntry extends ByteSpan {
  /** Store key, without the store's prefix: `/configmaps/<namespace>/<name>`. */
  readonly key: string;
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly revision: Revision;
  /** See StoreRecord. */
  readonly stale: boolean;
  /** A view of the object's bytes. Made when it is asked for: `end - start` is their number. */
  readonly bytes: Buffer;
  label(key: string): string | undefined;
  /** A field by its path in selectors; undefined where the kind has no such field. */
  field(path: string): string | undefined;
}

/** True for the entries that a request selects. Called for every event and every listed entry: cheap, no side effects. */
export type EntryMatcher = (entry: CacheEntry) => boolean;

/** A value that a field must have for an object to be selected. */
export interface RequiredField {
  /** The field's label. */
  readonly label: string;
  readonly value: string;
}

export interface RangeOptions {
  /** Start after this key. */
  readonly after?: string;
  /** End before this key. */
  readonly before?: string;
}

/** Where a page of a range ends: its last entry, the one that follows, and how many follow. */
export interface RangeCut {
  readonly last: CacheEntry;
  readonly next: CacheEntry;
  readonly remaining: number;
}

/** A collection at one revision. Costs nothing to hold for a short time; never changes. */
export interface Snapshot {
  readonly revision: Revision;
  /**
   * Keys that the store has and whose values are no objects of the resource, with the revisions of those values. They
   * are not among the entries and not counted: reads that would show one fail.
   */
  readonly corrupt: ReadonlyMap<string, Revision>;
  get(key: string): CacheEntry | undefined;
  /** Entries whose key starts with `prefix`, within the range, in order of key. */
  entries(prefix: string, options?: RangeOptions): IterableIterator<CacheEntry>;
  /**
   * Entries whose key starts with `prefix` and whose field has that value, in order of key. Costs what it finds;
   * undefined where this snapshot has no index of the field.
   */
  entriesWith(field: RequiredField, prefix: string, options?: RangeOptions): IterableIterator<CacheEntry> | undefined;
  /**
   * The bytes of the same entries as JSON arrays have them: each span holds one entry, or several with a comma between.
   * Costs what the collection has changed since somebody asked, and a little for each fifty entries.
   */
  runs(prefix: string, options?: RangeOptions): IterableIterator<ByteSpan>;
  /** Where the first `limit` of the same entries end; undefined where there are no more than that. O(log n). */
  cut(prefix: string, options: RangeOptions, limit: number): RangeCut | undefined;
  /** How many the same entries are. O(log n). */
  count(prefix: string, options?: RangeOptions): number;
}

/** What a watcher is told. One object for all watchers of a change, so that encodings of it can be kept on it. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** With DELETED: the last state, with the resourceVersion of the deletion in its bytes. */
  readonly entry: CacheEntry;
  readonly revision: Revision;
  /** Encoded forms by format, filled by whoever encodes first. */
  readonly encodings: Encodings;
}

/** Where a watcher's events go. Called in order, never before `watch` has returned, never after `closed`. */
export interface WatchSink {
  /** Takes an event. False: no more until `Watcher.resume` is called; events then wait in the watcher's buffer. */
  event(event: CacheEvent): boolean;
  /**
   * `slow`: the buffer was full. `compacted`: history does not reach back to where the watch stands, or an object became
   * corrupt; the client must re-list. `beyond`: it must as well, since the store never gave out the revision that the
   * watch is to start after. `closed`: the cache ends, or holds the resource no more. Not called after the watcher was
   * closed from outside.
   */
  closed(reason: 'slow' | 'compacted' | 'beyond' | 'closed'): void;
}

export interface Watcher extends Closable {
  /**
   * Every event up to this revision was given to the sink: what a bookmark may say. Asked for, not told, so that idle
   * watchers cost nothing. Not to be read inside `WatchSink.event`.
   */
  readonly revision: Revision;
  /** Delivers what waits, then goes on. */
  resume(): void;
}

export interface WatchOptions {
  /** Events with a larger revision are delivered; none of an earlier one. */
  readonly after: Revision;
  /** Only this namespace. */
  readonly namespace?: string;
  /** Only objects of this name. */
  readonly name?: string;
  /** A value that `matches` requires of a field. The watch then costs nothing when objects with other values change. */
  readonly requires?: RequiredField;
  /** When it stops or starts to hold for an object, the watcher sees DELETED or ADDED. Absent: all. */
  readonly matches?: EntryMatcher;
}

/** One resource's objects. */
export interface Collection {
  /** `/configmaps/`: what keys of this resource start with. */
  readonly prefix: string;
  get(key: string): CacheEntry | undefined;
  /** Makes an entry of a record that was read from the store, for versions that the cache no longer holds. */
  decode(record: StoreRecord): CacheEntry;
  /** The collection now. */
  snapshot(): Snapshot;
  /** The collection as it was at a past revision, where the cache still holds it. */
  snapshotAt(revision: Revision): Snapshot | undefined;
  /**
   * Events after `after`, first of the cache's own history, where that is too short of the store's, then as they happen:
   * none missing, none twice. Where the store's is too short as well, the sink is closed with `compacted`. An `after`
   * that is later than now is waited for, as long as `limits.futureRevisionWaitMs`: other servers of the store may know more.
   * What the store itself has not reached by then is of another one, and the sink is closed with `beyond`.
   */
  watch(options: WatchOptions, sink: WatchSink): Watcher;
}

/** What the cache must know of a resource. */
export interface CachedResource {
  /** What its keys start with: `/core/configmaps/`. Followed by `<namespace>/<name>`, or `<name>` where cluster-scoped. */
  readonly prefix: string;
  readonly namespaced: boolean;
  /** Beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly SelectableField[];
}

/** Where those who send what watchers are told have enough to do: resolves when they can be told more. */
export type Throttle = () => Promise<void> | undefined;

export interface WatchCache {
  /** Resolves when all resources are loaded. Rejects when the store cannot be read; the cache is closed then. */
  ready(): Promise<void>;
  /** Resolves when the resource is loaded. Its prefix may not overlap another's. */
  addResource(resource: CachedResource): Promise<void>;
  /**
   * Holds a resource no more. Its watches are closed with `closed`, those that are opened later at once; snapshots that were
   * taken stay as they are. Costs what the resource costs.
   */
  removeResource(prefix: string): void;
  /** Reads a resource anew from the store, because what is held is wrong. Its watches are closed with `compacted`. */
  reload(prefix: string): Promise<void>;
  /** Everything up to this revision is in the cache. */
  readonly revision: Revision;
  /** Throws for a prefix that was not added. Before the resource is loaded its collection is empty. */
  collection(prefix: string): Collection;
  /** Of all resources that are loaded. */
  collections(): readonly Collection[];
  /** Resolves when `revision` is reached; false after `waitMs` or when the signal aborts. */
  waitFor(revision: Revision, waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** True where the cache shows all writes acknowledged before the call, and knows that without asking the store. */
  isFresh(): boolean;
  /**
   * Waits until the cache shows all writes acknowledged before the call. Calls that wait together share one round trip.
   * Rejects with the signal's reason, and with StoreError `unavailable` when the store does not answer for too long.
   */
  fresh(signal?: AbortSignal): Promise<Revision>;
  /** Watchers open now. */
  readonly watchers: number;
  /** Has the fan-out wait while the throttle says so. */
  throttle(throttle: Throttle): Closable;
  close(): Promise<void>;
}
