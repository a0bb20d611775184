import type { ByteSpan } from '../../base/collections/byte-span.ts';
import type { TimeSlice } from '../../base/time/time-slice.ts';
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

/** A media type of a format. */
interface MediaType {
  readonly name: string;
  /** Whether 406 and 415 errors list it. */
  readonly advertised: boolean;
  /** Only watches are sent in it. Default: everything. */
  readonly streamsOnly?: boolean;
}

/** The expected content of a request body. */
export interface ExpectedBody {
  readonly kind: string;
  readonly schema: StructSchema;
  /** Elements of all lists and objects, for formats in which bytes do not bound their number. Default: `limits.elementsMax`. */
  readonly elementsMax?: number;
}

/** Content of a response; each variant has a `kind`. */
export type Shown = ApiObject | Table | PartialObjectMetadata | Status;

export interface EncodeOptions {
  /** Indented for human readers, if the format supports it. */
  readonly pretty: boolean;
  /** Schema of a response by its kind; called by formats that need one. */
  readonly schemaOf: (kind: string, apiVersion?: string) => StructSchema;
}

/** How to encode an item of a list. */
export interface ItemParts extends EncodeOptions {
  /** Type of the list, by which schema-based formats find the field of the items. */
  readonly head: { readonly kind: string; readonly apiVersion: string };
  /** Kind of each item if it is an object; '' for table rows. */
  readonly itemKind: string;
  readonly shown: (entry: Pick<CacheEntry, 'bytes'>) => ApiObject | PartialObjectMetadata | TableRow;
}

/** A list whose items are encoded one by one, as they are sent. */
export interface ListParts extends ItemParts {
  /** All fields except the items. */
  readonly head: ItemParts['head'] & Readonly<Record<string, unknown>>;
  /** Field that holds the items. */
  readonly field: 'items' | 'rows';
  readonly items: Iterable<CacheEntry>;
  /** Number of the items, for formats that write it before them. */
  readonly count: () => number;
  /** Encodes an item off the event loop, like `Format.item`; undefined if the item is small enough for this thread. */
  readonly elsewhere: (entry: CacheEntry) => Promise<Uint8Array> | undefined;
  /** All items as single-line JSON, if available without parsing. Used instead of `items`: see `ListBody`. */
  readonly json?: Iterable<ByteSpan> | undefined;
  /** Aborted when the list is no longer needed. */
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
}

/** Part of a list; a promise if it is encoded off the event loop. */
type Piece = Uint8Array | string | Promise<Uint8Array>;

/** A list as sent: comma-separated items, or arbitrary pieces. Both are encoded on demand. */
export type ListRepresentation =
  | ({ readonly type: 'items' } & ListBody)
  | { readonly type: 'pieces'; readonly pieces: Iterable<Piece> };

/** Encoding of watch events in a format. */
interface WatchFormat {
  /** As a stream. */
  readonly stream: EventFraming;
  /** As WebSocket messages. */
  readonly messages: EventFraming;
  contentType(mediaType: string): string;
}

/** A format of API objects (spec section 4.3): decodes bodies, and encodes objects, lists, events and errors. */
export interface Format {
  /** Identifies the format, also across threads. */
  readonly name: string;
  /** Feature gate without which the format is unknown to clients. */
  readonly gate?: string;
  /** The preferred one first. */
  mediaTypes(dialect: Dialect): readonly MediaType[];
  /** Whether values of this schema can be encoded in it; undefined: whether arbitrary documents can. */
  covers(schema: StructSchema | undefined): boolean;
  /** Whether tables can be encoded in it. */
  readonly tables: boolean;
  /** Values are encoded by their schema, and each takes as little as a byte. Text formats need neither schema nor kind. */
  readonly isBinary: boolean;
  /** Whether the cache stores objects in this format. */
  readonly isStored: boolean;
  /** Throws BadRequest if the bytes are not in the format. */
  decode(bytes: Uint8Array, expected: ExpectedBody): RequestBody;
  encode(shown: Shown, options: EncodeOptions): Buffer;
  list(parts: ListParts): ListRepresentation | Promise<ListRepresentation>;
  /** One item, encoded as in `list`. */
  item(entry: Pick<CacheEntry, 'bytes'>, parts: ItemParts): Uint8Array;
  /** Absent if watches cannot be encoded in it. */
  readonly watch?: WatchFormat;
}
