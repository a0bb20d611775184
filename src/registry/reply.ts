import type { ByteSpan } from '../base/collections/byte-span.ts';
import type { CacheEntry, Watcher, WatchSink } from '../cache/cache.ts';
import type { ConnectSubresource, Destination } from '../kinds/kind.ts';
import type { Status } from '../meta/status-error.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { Revision } from '../store/store.ts';

/**
 * Reply of a verb. Objects are JSON in the version of the request; other formats are converted from it when the
 * response is encoded.
 */
export type Reply = ObjectReply | ListReply | WatchReply | StatusReply | ConnectReply;

export interface ObjectReply {
  readonly type: 'object';
  readonly status: 200 | 201 | 202;
  /** Undefined for the result of an action, which is not an object of a stored kind. */
  readonly served: ServedResource | undefined;
  readonly bytes: Buffer;
}

export interface ListReply {
  readonly type: 'list';
  readonly served: ServedResource;
  readonly metadata: ListMetadata;
  /** In key order. Can be iterated once. */
  readonly items: Iterable<CacheEntry>;
  /** Number of the items, without iterating over them. */
  readonly count: () => number;
  /**
   * The bytes of the items (`Snapshot.runs`), if all are stored in the version served. Read instead of `items`, once.
   */
  readonly runs?: Iterable<ByteSpan> | undefined;
}

export interface ListMetadata {
  /** Absent if the items are not stored. */
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface WatchReply {
  readonly type: 'watch';
  readonly served: ServedResource;
  /** Objects sent as ADDED before any other event. */
  readonly initial: Iterable<CacheEntry>;
  /** The revision of the collection that `initial` shows, and after which events follow. */
  readonly revision: Revision;
  /** Whether to send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Whether to send a bookmark with the dialect's annotation after `initial` (spec section 4.4, streaming list). */
  readonly initialEventsEnd: boolean;
  /** The watch ends cleanly after this time. */
  readonly timeoutMs: number;
  /** The newest revision that the cache has reached. */
  reached(): Revision;
  /** Opens the watch. Throws a StatusError if the history does not reach back to `revision`. */
  start(sink: WatchSink): Watcher;
}

interface StatusReply {
  readonly type: 'status';
  readonly body: Status;
  /** 500: an action answers a failure. */
  readonly status: 200 | 201 | 202 | 500;
}

/** The client is to be connected to another server. The request was admitted. */
export interface ConnectReply {
  readonly type: 'connect';
  readonly carries: ConnectSubresource['carries'];
  /** Undefined: there is nothing to read yet. */
  readonly destination: Destination | undefined;
}

/** An object encoded in the version of the request, from the form in which it was written. */
export const shownBytes = ({ forms, resource }: ServedResource, written: Buffer): Buffer =>
  resource.custom ? written : (forms?.bytes(written) ?? written);
