import { type ByteSpan, spanOf } from '../base/byte-span.ts';
import type { Clock } from '../base/clock.ts';
import type { TimeSlice } from '../base/time-slice.ts';
import type { CacheEntry } from '../cache/cache.ts';
import { parseStored, stringifyJson } from '../codec/json.ts';
import { compactJson, encodeList, prettyJson, type TextLayout, yaml } from '../codec/list-text.ts';
import {
  type PartialObjectMetadata,
  partialObjectMetadata,
  partialObjectMetadataBytes,
} from '../codec/partial-object-metadata.ts';
import { encodeEnvelope } from '../codec/protobuf/envelope.ts';
import { encodeList as encodeProtobufList } from '../codec/protobuf/list.ts';
import { parseIncludeObject, type Table, type TableOptions, tableHead, tableOf, tableRow } from '../codec/table.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ListBody } from '../http/list-stream.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Status } from '../meta/status-error.ts';
import type { ListReply } from '../registry/reply.ts';
import type { ServedResource } from '../resources/resource.ts';
import { jsonLines, jsonMessages, protobufFrames, protobufMessages } from './event-framing.ts';
import { messageSchema } from './message-schema.ts';
import type { Negotiated } from './negotiation.ts';
import type { WatchEncoding } from './watch-encoding.ts';

/** How one answer is written: the format, and what a table of it shows. */
export interface Presentation {
  readonly negotiated: Negotiated;
  readonly table: TableOptions;
  /** Of the resource that was asked. */
  readonly kind: Kind | undefined;
}

/** A list as it is sent: items that are joined by commas, or pieces of any kind. Both are made as they are asked for. */
export type ListRepresentation =
  | ({ readonly type: 'items' } & ListBody)
  | { readonly type: 'pieces'; readonly pieces: Iterable<Uint8Array | string> };

/**
 * Makes what the client asked for of JSON bytes: whole objects, tables, metadata; JSON or YAML (spec section 4.3). The
 * plain case, whole objects in JSON, passes the bytes on without looking at them.
 */
export class Representation {
  readonly #initialEventsEnd: string;
  readonly #clock: Clock;

  constructor(dialect: Dialect, clock: Clock) {
    this.#initialEventsEnd = dialect.initialEventsEndAnnotation;
    this.#clock = clock;
  }

  /** Reads the parameters that say how an answer is written. */
  presentation(negotiated: Negotiated, kind: Kind | undefined, query: URLSearchParams): Presentation {
    return {
      negotiated,
      kind,
      table: {
        columns: kind?.columns ?? [],
        includeObject:
          negotiated.as === 'Table' ? parseIncludeObject(query.get('includeObject') ?? undefined) : 'Metadata',
        metaVersion: negotiated.metaVersion,
        now: this.#clock.now(),
      },
    };
  }

  object(bytes: Buffer, { negotiated, table, kind }: Presentation): Buffer {
    const { as, format, pretty } = negotiated;
    if (as === 'object' && format === 'json' && !pretty) return bytes;
    const shown = this.#shown(bytes, negotiated, table);
    return format === 'protobuf' ? protobuf(shown, kind) : write(shown, negotiated);
  }

  #shown(bytes: Buffer, { as }: Negotiated, table: TableOptions, headers: 'shown' | 'omitted' = 'shown'): Shown {
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

  /**
   * A list, made item by item as it is sent; in protobuf measured first, since its length stands at its beginning. The
   * signal aborts when nobody waits for it any more.
   */
  list(
    reply: ListReply,
    presentation: Presentation,
    client: { readonly signal: AbortSignal; readonly slice: TimeSlice },
  ): ListRepresentation | Promise<ListRepresentation> {
    const { negotiated, table } = presentation;
    const { as, format } = negotiated;
    if (format === 'protobuf') return protobufList(reply, presentation, client);
    const layout = layoutOf(negotiated);
    const { metadata } = reply;
    switch (as) {
      case 'Table':
        return pieces(
          encodeList(layout, tableHead(metadata, table), 'rows', objects(reply.items), (object) =>
            tableRow(object, table),
          ),
        );
      case 'PartialObjectMetadata':
      case 'PartialObjectMetadataList': {
        const head = { kind: 'PartialObjectMetadataList', apiVersion: table.metaVersion, metadata };
        if (layout === compactJson)
          return { type: 'items', ...listBody(head, partialItems(reply.items, table.metaVersion)) };
        const partial = (object: ApiObject) => partialObjectMetadata(object, table.metaVersion);
        return pieces(encodeList(layout, head, 'items', objects(reply.items), partial));
      }
      case 'object': {
        const head = { ...listHead(reply), metadata };
        // Goes out as it is: the items' bytes are not looked at.
        if (layout === compactJson) return { type: 'items', ...listBody(head, reply.items) };
        return pieces(encodeList(layout, head, 'items', objects(reply.items), (object) => object));
      }
    }
  }

  /** How the events of a watch are written: one after the other, or as messages of a WebSocket. */
  watchEncoding(
    { kind, apiVersion, forms }: ServedResource,
    presentation: Presentation,
    webSocket?: WatchEncoding['webSocket'],
  ): WatchEncoding {
    const { as, format, mediaType } = presentation.negotiated;
    const { table } = presentation;
    const inProtobuf = format === 'protobuf';
    return {
      contentType: inProtobuf ? `${mediaType};stream=watch` : mediaType,
      webSocket,
      name: `${forms ? `${apiVersion} ` : ''}${webSocket ? 'messages ' : ''}${format} ${as === 'object' ? as : `${as} ${table.metaVersion} ${table.includeObject}`}`,
      differsFirst: as === 'Table',
      framing: framings[webSocket ? 'messages' : 'stream'][inProtobuf ? 'protobuf' : 'json'],
      object: ({ bytes }, first) => this.#eventObject(bytes, presentation, first ? 'shown' : 'omitted'),
      bookmark: (revision, initialEventsEnd) => {
        const annotations = initialEventsEnd && { annotations: { [this.#initialEventsEnd]: 'true' } };
        const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...annotations };
        const bookmark = Buffer.from(JSON.stringify({ kind: kind.kind, apiVersion, metadata }));
        return this.#eventObject(bookmark, presentation, 'omitted');
      },
      status: (status) => (inProtobuf ? protobuf(status, kind) : Buffer.from(JSON.stringify(status))),
    };
  }

  #eventObject(bytes: Buffer, { negotiated, table, kind }: Presentation, headers: 'shown' | 'omitted'): Buffer {
    const { as, format } = negotiated;
    if (format === 'json') {
      if (as === 'object') return bytes;
      if (as !== 'Table') return partialObjectMetadataBytes(bytes, table.metaVersion);
    }
    const shown = this.#shown(bytes, negotiated, { ...table, now: this.#clock.now() }, headers);
    return format === 'protobuf' ? protobuf(shown, kind) : Buffer.from(stringifyJson(shown));
  }
}

const framings = {
  stream: { json: jsonLines, protobuf: protobufFrames },
  messages: { json: jsonMessages, protobuf: protobufMessages },
} as const;

/** What is made of an object; each names its kind. */
type Shown = ApiObject | Table | PartialObjectMetadata;

async function protobufList(
  reply: ListReply,
  { negotiated, table, kind }: Presentation,
  client: { readonly signal: AbortSignal; readonly slice: TimeSlice },
): Promise<ListRepresentation> {
  const [item, list] =
    negotiated.as === 'object'
      ? [reply.served.kind.kind, listHead(reply)]
      : ['PartialObjectMetadata', { kind: 'PartialObjectMetadataList', apiVersion: table.metaVersion }];
  const encoded = await encodeProtobufList({
    listSchema: messageSchema(list.kind, kind, list.apiVersion),
    itemSchema: messageSchema(item, kind),
    head: { ...list, metadata: reply.metadata },
    items: reply.items,
    object: ({ bytes }) => parseStored(bytes) as ApiObject,
    ...client,
  });
  return { type: 'pieces', pieces: encoded };
}

const protobuf = (shown: Shown | Status, kind: Kind | undefined): Buffer =>
  encodeEnvelope(messageSchema(shown.kind, kind), { ...shown });

const listHead = ({ served }: ListReply) => ({ kind: served.kind.listKind, apiVersion: served.apiVersion });

const pieces = (made: Iterable<string>): ListRepresentation => ({ type: 'pieces', pieces: made });

const listBody = (head: object, items: Iterable<ByteSpan>): ListBody => ({
  head: compactJson.open(head, 'items'),
  items,
  tail: compactJson.close,
});

function* partialItems(items: Iterable<CacheEntry>, metaVersion: string): IterableIterator<ByteSpan> {
  for (const { bytes } of items) yield spanOf(partialObjectMetadataBytes(bytes, metaVersion));
}

function* objects(items: Iterable<CacheEntry>): IterableIterator<ApiObject> {
  for (const { bytes } of items) yield parseStored(bytes) as ApiObject;
}

const layoutOf = ({ format, pretty }: Negotiated): TextLayout =>
  format === 'yaml' ? yaml : pretty ? prettyJson : compactJson;

const write = (value: unknown, negotiated: Negotiated): Buffer => Buffer.from(layoutOf(negotiated).whole(value));
