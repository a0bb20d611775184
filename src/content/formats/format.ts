import type { ByteSpan } from '../../base/byte-span.ts';
import type { TimeSlice } from '../../base/time-slice.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import type { PartialObjectMetadata } from '../../codec/partial-object-metadata.ts';
import type { Table, TableRow } from '../../codec/table.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ListBody } from '../../http/list-stream.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Status } from '../../meta/status-error.ts';
import type { RequestBody } from '../../registry/verb.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { EventFraming } from './event-framing.ts';

/** A name that clients know a format by. */
interface MediaType {
  readonly name: string;
  /** Whether refusals list it. */
  readonly told: boolean;
}

/** What a body should hold. */
export interface ExpectedBody {
  readonly kind: string;
  readonly schema: StructSchema;
}

/** What an answer shows; each names its kind. */
export type Shown = ApiObject | Table | PartialObjectMetadata | Status;

export interface EncodeOptions {
  /** For people to read, where the format knows such a form. */
  readonly pretty: boolean;
  /** The schema of what an answer shows, by its kind; asked for by formats that need one. */
  readonly schemaOf: (kind: string, apiVersion?: string) => StructSchema;
}

/** What an item of a list shows. */
export interface ItemParts extends EncodeOptions {
  /** Of the list, by which formats with schemas find the field of the items. */
  readonly head: { readonly kind: string; readonly apiVersion: string };
  /** The kind of each item where it is an object, and not the row of a table. */
  readonly itemKind: string;
  readonly shown: (entry: Pick<CacheEntry, 'bytes'>) => ApiObject | PartialObjectMetadata | TableRow;
}

/** A list whose items are made one by one, as they are sent. */
export interface ListParts extends ItemParts {
  /** All but the items. */
  readonly head: ItemParts['head'] & Readonly<Record<string, unknown>>;
  /** The list's own field. */
  readonly field: 'items' | 'rows';
  readonly items: Iterable<CacheEntry>;
  /** Has an item made off the event loop, as `Format.item` makes it; undefined where it is small enough to be made here. */
  readonly elsewhere: (entry: CacheEntry) => Promise<Uint8Array> | undefined;
  /** All items in JSON on one line, where that needs no parsing. To be read instead of `items`: see `ListBody`. */
  readonly json?: Iterable<ByteSpan> | undefined;
  /** Aborts when nobody waits for the list any more. */
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
}

/** Part of a list; a promise where it is made elsewhere. */
type Piece = Uint8Array | string | Promise<Uint8Array>;

/** A list as it is sent: items that are joined by commas, or pieces of any kind. Both are made as they are asked for. */
export type ListRepresentation =
  | ({ readonly type: 'items' } & ListBody)
  | { readonly type: 'pieces'; readonly pieces: Iterable<Piece> };

/** How the events of watches are written in a format. */
interface WatchFormat {
  /** One after the other. */
  readonly stream: EventFraming;
  /** As messages of a WebSocket. */
  readonly messages: EventFraming;
  contentType(mediaType: string): string;
}

/** A format of API objects (spec section 4.3): how bodies are read, and objects, lists, events and errors written. */
export interface Format {
  /** Plain data that stands for the format, also between threads. */
  readonly name: string;
  /** Its own first. */
  mediaTypes(dialect: Dialect): readonly MediaType[];
  /** Whether values of this schema have a form in it; undefined: whether everything has. */
  covers(schema: StructSchema | undefined): boolean;
  /** Whether tables do. */
  readonly tables: boolean;
  /** Whether the bytes of an object in the cache are already in it. */
  readonly isStored: boolean;
  /** Throws BadRequest for what is not in the format. */
  decode(bytes: Uint8Array, expected: ExpectedBody): RequestBody;
  encode(shown: Shown, options: EncodeOptions): Buffer;
  list(parts: ListParts): ListRepresentation | Promise<ListRepresentation>;
  /** One item, as it stands in `list`. */
  item(entry: Pick<CacheEntry, 'bytes'>, parts: ItemParts): Uint8Array;
  /** Absent: no watches are written in it. */
  readonly watch?: WatchFormat;
}
