import type { ByteSpan } from '../base/byte-span.ts';
import type { CacheEntry, Watcher, WatchSink } from '../cache/cache.ts';
import type { Status } from '../meta/status-error.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { Revision } from '../store/store.ts';

/** What a verb answers. Objects are JSON bytes in the version of the request; other formats are made of them where the answer is encoded. */
export type Reply = ObjectReply | ListReply | WatchReply | StatusReply;

export interface ObjectReply {
  readonly type: 'object';
  readonly status: 200 | 201 | 202;
  /** Absent for objects that are no stored kind's: the answer of an action. */
  readonly served: ServedResource | undefined;
  readonly bytes: Buffer;
}

export interface ListReply {
  readonly type: 'list';
  readonly served: ServedResource;
  readonly metadata: ListMetadata;
  /** In order of key. May be read once only. */
  readonly items: Iterable<CacheEntry>;
  /** Where all of them are stored as they are served: their bytes as `Snapshot.runs` gives them. May be read instead, once. */
  readonly runs?: Iterable<ByteSpan> | undefined;
}

export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface WatchReply {
  readonly type: 'watch';
  readonly served: ServedResource;
  /** Objects that are told as ADDED before anything else. */
  readonly initial: Iterable<CacheEntry>;
  /** The collection's version that `initial` shows, and after which events follow. */
  readonly revision: Revision;
  /** Send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Send a bookmark with the dialect's annotation after `initial` (spec section 4.4, streaming list). */
  readonly initialEventsEnd: boolean;
  /** The watch ends cleanly after this. */
  readonly timeoutMs: number;
  /** The version that the server has reached. */
  reached(): Revision;
  /** Opens the watch. Throws a StatusError where history does not reach back. */
  start(sink: WatchSink): Watcher;
}

interface StatusReply {
  readonly type: 'status';
  readonly body: Status;
  readonly status: 200 | 201 | 202;
}

/** An object in the version of the request, of one that was written in the stored form. */
export const shownBytes = ({ forms }: ServedResource, stored: Buffer): Buffer => forms?.bytes(stored) ?? stored;
