import { type ByteSpan, spanOf } from '../base/collections/byte-span.ts';
import type { Clock } from '../base/time/clock.ts';
import type { TimeSlice } from '../base/time/time-slice.ts';
import type { CacheEntry } from '../cache/cache.ts';
import { parseStored } from '../codec/json.ts';
import { partialObjectMetadata, partialObjectMetadataBytes } from '../codec/partial-object-metadata.ts';
import { parseIncludeObject, type TableOptions, tableHead, tableOf, tableRow } from '../codec/table.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { rowsOf } from '../kinds/body-kind.ts';
import type { Kind } from '../kinds/kind.ts';
import { outlineOf } from '../kinds/lazy-schema.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ListReply } from '../registry/reply.ts';
import type { ServedResource } from '../resources/resource.ts';
import { zeroStruct } from '../schema/zero-value.ts';
import type { EncodeOptions, Format, ItemParts, ListParts, ListRepresentation, Shown } from './formats/format.ts';
import { formatNamed } from './formats/formats.ts';
import { messageSchema } from './message-schema.ts';
import type { Negotiated } from './negotiation.ts';
import type { WatchEncoding } from './watch-encoding.ts';

/** How to encode one response: the format and the table options. */
export interface Presentation {
  readonly negotiated: Negotiated;
  readonly table: TableOptions;
  /** Kind of the requested resource. */
  readonly kind: Kind | undefined;
}

/** The consumer of a list. */
interface ListClient {
  /** The signal is aborted when the list is no longer needed. */
  readonly exchange: { readonly signal: AbortSignal };
  readonly slice: TimeSlice;
  /** See ListParts. Default: everything is encoded on this thread. */
  readonly elsewhere?: ListParts['elsewhere'];
}

/**
 * Encodes responses from stored JSON: whole objects, tables or metadata, in any format (spec section 4.3). Whole
 * objects in compact JSON are passed through without parsing.
 */
export class Representation {
  readonly #dialect: Dialect;
  readonly #clock: Clock;

  constructor(dialect: Dialect, clock: Clock) {
    this.#dialect = dialect;
    this.#clock = clock;
  }

  /** Reads the query parameters that affect the encoding. `subresource` is '' for the object itself. */
  presentation(negotiated: Negotiated, kind: Kind | undefined, query: URLSearchParams, subresource = ''): Presentation {
    const { columns, rowConditions } = kind ? rowsOf(kind, subresource) : { columns: [] };
    return {
      negotiated,
      kind,
      table: {
        columns,
        conditionsOf: rowConditions,
        includeObject:
          negotiated.as === 'Table' ? parseIncludeObject(query.get('includeObject') ?? undefined) : 'Metadata',
        metaVersion: negotiated.metaVersion,
        now: negotiated.as === 'Table' ? this.#clock.now() : 0,
      },
    };
  }

  object(bytes: Buffer, presentation: Presentation): Buffer {
    const { negotiated, table } = presentation;
    const format = formatNamed(negotiated.format);
    if (format.isStored && negotiated.as === 'object' && !negotiated.pretty) return bytes;
    return format.encode(shownOf(bytes, negotiated.as, table), encodeOptions(presentation));
  }

  /** A list, encoded item by item as it is sent. */
  list(
    reply: ListReply,
    presentation: Presentation,
    { exchange, slice, elsewhere = () => undefined }: ListClient,
  ): ListRepresentation | Promise<ListRepresentation> {
    const parts = { ...listParts(reply, presentation), ...encodeOptions(presentation) };
    const format = formatNamed(presentation.negotiated.format);
    return format.list({ ...parts, elsewhere, signal: exchange.signal, slice });
  }

  /** An object encoded as an item of a list of the presentation's kind. */
  listItem(bytes: Buffer, presentation: Presentation): Uint8Array {
    const { kind, negotiated } = presentation;
    if (!kind) throw new TypeError('lists are of a kind');
    const parts = { ...itemParts(kind, presentation), ...encodeOptions(presentation) };
    return formatNamed(negotiated.format).item({ bytes }, parts);
  }

  /** Encoding of watch events: a stream, or messages of a WebSocket. */
  watchEncoding(
    { kind, apiVersion, forms }: ServedResource,
    presentation: Presentation,
    { webSocket, elsewhere }: Pick<WatchEncoding, 'webSocket' | 'elsewhere'> = {},
  ): WatchEncoding {
    const { as, format: name, mediaType } = presentation.negotiated;
    const { table } = presentation;
    const format = formatNamed(name);
    const { watch } = format;
    if (!watch) throw new TypeError(`no watches are written in ${name}`);
    return {
      contentType: watch.contentType(mediaType),
      webSocket,
      name: `${forms ? `${apiVersion} ` : ''}${webSocket ? 'messages ' : ''}${name} ${as === 'object' ? as : `${as} ${table.metaVersion} ${table.includeObject}`}`,
      differsFirst: as === 'Table',
      framing: webSocket ? watch.messages : watch.stream,
      object: ({ bytes }, first) => this.eventObject(bytes, presentation, first),
      elsewhere: format.isStored && as !== 'Table' ? undefined : elsewhere,
      bookmark: (revision, initialEventsEnd) => {
        const annotations = initialEventsEnd && { annotations: this.#endOfInitialEvents(presentation) };
        const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...annotations };
        // Generated clients check required fields of bookmarks as of any object.
        const bookmark = { kind: kind.kind, apiVersion, ...zeroStruct(outlineOf(kind)), metadata };
        return this.eventObject(Buffer.from(JSON.stringify(bookmark)), presentation, false);
      },
      status: (status) => eventBytes(format.encode(status, inOneLine(presentation)), format),
    };
  }

  /**
   * Annotations of the bookmark that ends the initial events. Clients that make a list of the events take the rest of it from the
   * blueprint: an empty list in the format of the watch (KEP-3157).
   */
  #endOfInitialEvents(presentation: Presentation): Readonly<Record<string, string>> {
    const { initialEventsEndAnnotation, initialEventsListAnnotation } = this.#dialect;
    const { kind, negotiated } = presentation;
    const end = { [initialEventsEndAnnotation]: 'true' };
    if (!kind || negotiated.as === 'Table') return end;
    const list = { ...itemParts(kind, presentation).head, metadata: {}, items: [] };
    const blueprint = formatNamed(negotiated.format).encode(list, inOneLine(presentation));
    return { ...end, [initialEventsListAnnotation]: blueprint.toString('base64') };
  }

  /** The object of an event. Only the first table has column definitions. */
  eventObject(bytes: Buffer, presentation: Presentation, first: boolean): Buffer {
    const { negotiated, table } = presentation;
    const { as } = negotiated;
    const format = formatNamed(negotiated.format);
    if (format.isStored && as === 'object') return bytes;
    if (format.isStored && as !== 'Table') return partialObjectMetadataBytes(bytes, table.metaVersion);
    const shown = shownOf(bytes, as, { ...table, now: this.#clock.now() }, first ? 'shown' : 'omitted');
    return eventBytes(format.encode(shown, inOneLine(presentation)), format);
  }
}

function shownOf(
  bytes: Buffer,
  as: Negotiated['as'],
  table: TableOptions,
  headers: 'shown' | 'omitted' = 'shown',
): Shown {
  const object = parseStored(bytes) as ApiObject;
  switch (as) {
    case 'object':
      return object;
    case 'Table':
      return tableOf(object, table, headers);
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return partialObjectMetadata(object, table.metaVersion);
  }
}

const encodeOptions = ({ negotiated: { pretty }, kind }: Presentation): EncodeOptions => ({
  pretty,
  schemaOf: (name, apiVersion) => messageSchema(name, kind, apiVersion),
});

/** Events are framed by line, so they are never pretty. */
const inOneLine = (presentation: Presentation): EncodeOptions => ({ ...encodeOptions(presentation), pretty: false });

/** The event framing adds the line end. */
const eventBytes = (bytes: Buffer, { isStored }: Format): Buffer =>
  isStored && bytes.at(-1) === lineEnd ? bytes.subarray(0, -1) : bytes;

const lineEnd = 0x0a;

function itemParts(kind: Kind, { negotiated, table }: Presentation): Omit<ItemParts, keyof EncodeOptions> {
  const { metaVersion } = table;
  switch (negotiated.as) {
    case 'Table':
      return {
        head: { kind: 'Table', apiVersion: metaVersion },
        itemKind: '',
        shown: (entry) => tableRow(objectOf(entry), table),
      };
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return {
        head: { kind: 'PartialObjectMetadataList', apiVersion: metaVersion },
        itemKind: 'PartialObjectMetadata',
        shown: (entry) => partialObjectMetadata(objectOf(entry), metaVersion),
      };
    case 'object':
      return {
        head: { kind: kind.listKind, apiVersion: apiVersionOf(kind) },
        itemKind: kind.kind,
        shown: objectOf,
      };
  }
}

type ListContent = Omit<ListParts, keyof EncodeOptions | 'elsewhere' | 'signal' | 'slice'>;

function listParts({ served, metadata, items, count, runs }: ListReply, presentation: Presentation): ListContent {
  const { negotiated, table } = presentation;
  const parts = { ...itemParts(served.kind, presentation), count };
  switch (negotiated.as) {
    case 'Table':
      return { ...parts, head: { ...tableHead(metadata, table) }, field: 'rows', items };
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList': {
      const json = metadataSpans(items, table.metaVersion);
      return { ...parts, head: { ...parts.head, metadata }, field: 'items', items, json };
    }
    case 'object':
      // Passed through without parsing.
      return { ...parts, head: { ...parts.head, metadata }, field: 'items', items, json: runs ?? items };
  }
}

function* metadataSpans(
  items: Iterable<CacheEntry>,
  metaVersion: TableOptions['metaVersion'],
): IterableIterator<ByteSpan> {
  for (const { bytes } of items) yield spanOf(partialObjectMetadataBytes(bytes, metaVersion));
}

const objectOf = ({ bytes }: Pick<CacheEntry, 'bytes'>): ApiObject => parseStored(bytes) as ApiObject;
