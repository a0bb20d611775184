import type { Closable } from '../base/disposable.ts';
import type { Revision, StoreRecord } from '../store/store.ts';

/**
 * One object as the cache holds it: the JSON bytes that a client receives, with its resourceVersion in place, and what
 * selectors look at. Immutable and shared.
 */
export interface CacheEntry {
  /** Store key, without the store's prefix: `/configmaps/<namespace>/<name>`. */
  readonly key: string;
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly revision: Revision;
  readonly bytes: Buffer;
  label(key: string): string | undefined;
  /** A field by its path in selectors; undefined where the kind has no such field. */
  field(path: string): string | undefined;
}

/** True for the entries that a request selects. Called for every event and every listed entry: cheap, no side effects. */
export type EntryMatcher = (entry: CacheEntry) => boolean;

export interface RangeOptions {
  /** Start after this key. */
  readonly after?: string;
}

/** A collection at one revision. Costs nothing to hold for a short time; never changes. */
export interface Snapshot {
  readonly revision: Revision;
  get(key: string): CacheEntry | undefined;
  /** Entries whose key starts with `prefix`, in order of key. */
  entries(prefix: string, options?: RangeOptions): IterableIterator<CacheEntry>;
  /** How many keys start with `prefix` and sort after `after`. */
  count(prefix: string, options?: RangeOptions): number;
}

/** What a watcher is told. One object for all watchers of a change, so that encodings of it can be kept on it. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** With DELETED: the last state, with the resourceVersion of the deletion in its bytes. */
  readonly entry: CacheEntry;
  readonly revision: Revision;
  /** Encoded forms by format, filled by whoever encodes first. */
  readonly encodings: Map<string, Buffer>;
}

/** Where a watcher's events go. Called synchronously, in order; never after `closed`. */
export interface WatchSink {
  /** Takes an event. False: no more until `Watcher.resume` is called; events then wait in the watcher's buffer. */
  event(event: CacheEvent): boolean;
  /** Everything up to `revision` was delivered; for bookmarks. Only called while nothing waits in the buffer. */
  progress(revision: Revision): void;
  /**
   * `slow`: the buffer was full. `compacted`: history was lost, the client must re-list. `closed`: the cache ends.
   * Not called after the watcher was closed from outside.
   */
  closed(reason: 'slow' | 'compacted' | 'closed'): void;
}

export interface Watcher extends Closable {
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
  /** Throws StoreError `compacted` where history does not reach back to `after`. A later `after` than now waits for it. */
  watch(options: WatchOptions, sink: WatchSink): Watcher;
}

export interface WatchCache {
  /** Resolves when all resources are loaded. Rejects when the store cannot be read. */
  ready(): Promise<void>;
  /** Everything up to this revision is in the cache. */
  readonly revision: Revision;
  collection(prefix: string): Collection;
  /** Resolves when `revision` is reached; false after `waitMs` or when the signal aborts. */
  waitFor(revision: Revision, waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Waits until the cache shows all writes acknowledged before the call. Calls that wait together share one round trip. */
  fresh(signal?: AbortSignal): Promise<Revision>;
  /** Watchers open now. */
  readonly watchers: number;
  close(): Promise<void>;
}
