import type { CacheEntry } from '../cache/cache.ts';
import type { WebSocketRequest } from '../http/exchange.ts';
import type { Status } from '../meta/status-error.ts';
import type { Revision } from '../store/store.ts';
import type { EventFraming } from './formats/event-framing.ts';

/** Encodes large event objects off the event loop. */
interface ObjectsElsewhere {
  /** Whether the object is large enough. */
  takes(entry: CacheEntry): boolean;
  /** Like `WatchEncoding.object`. Rejects when the result is no longer needed. */
  object(entry: CacheEntry, first: boolean, signal: AbortSignal): Promise<Uint8Array>;
}

/** Encoding of the objects in watch events. */
export interface WatchEncoding {
  readonly contentType: string;
  /** Watches of one resource with equal encoding names share the bytes of an event. */
  readonly name: string;
  /** The object of the first event is encoded differently: only the first table has column definitions. */
  readonly differsFirst: boolean;
  /** Set if the events are WebSocket messages, with the selected sub-protocol. */
  readonly webSocket?: { readonly request: WebSocketRequest; readonly protocol: string | undefined } | undefined;
  readonly framing: EventFraming;
  /** The object of an event, ready for the framing. */
  object(entry: CacheEntry, first: boolean): Uint8Array;
  /** Encodes objects that would block the event loop too long; absent if there can be none. */
  readonly elsewhere?: ObjectsElsewhere | undefined;
  /** The object of a bookmark; `initialEventsEnd` adds the annotation of that name. */
  bookmark(revision: Revision, initialEventsEnd: boolean): Uint8Array;
  /** The object of an ERROR event. */
  status(status: Status): Uint8Array;
}
