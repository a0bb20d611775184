import type { CacheEntry } from '../cache/cache.ts';
import type { WebSocketRequest } from '../http/exchange.ts';
import type { Status } from '../meta/status-error.ts';
import type { Revision } from '../store/store.ts';
import type { EventFraming } from './formats/event-framing.ts';

/** Makes large objects of events off the event loop. */
interface ObjectsElsewhere {
  /** Whether this is a large one. */
  takes(entry: CacheEntry): boolean;
  /** As `WatchEncoding.object`. Rejects when nobody waits for it any more. */
  object(entry: CacheEntry, first: boolean, signal: AbortSignal): Promise<Uint8Array>;
}

/** How the objects of events are written. */
export interface WatchEncoding {
  readonly contentType: string;
  /** Watches of one resource whose encodings have the same name share the bytes of an event. */
  readonly name: string;
  /** The first event's object is written differently: a table tells its columns only there. */
  readonly differsFirst: boolean;
  /** Set where the events are messages of a WebSocket, with the sub-protocol that it speaks. */
  readonly webSocket?: { readonly request: WebSocketRequest; readonly protocol: string | undefined } | undefined;
  readonly framing: EventFraming;
  /** The object of an event, as the framing takes it. */
  object(entry: CacheEntry, first: boolean): Uint8Array;
  /** How objects are made that would hold the event loop too long; absent where none would. */
  readonly elsewhere?: ObjectsElsewhere | undefined;
  /** The object of a bookmark; with `initialEventsEnd` it carries the annotation that says so. */
  bookmark(revision: Revision, initialEventsEnd: boolean): Uint8Array;
  /** The object of an ERROR event. */
  status(status: Status): Uint8Array;
}
