import type { Clock } from '../base/clock.ts';
import type { CacheEntry } from '../cache/cache.ts';
import { parseStored, stringifyJson } from '../codec/json.ts';
import { encodePartialObjectMetadataList, partialObjectMetadata } from '../codec/partial-object-metadata.ts';
import { encodeTable, parseIncludeObject, type TableOptions, tableOf } from '../codec/table.ts';
import { formatYaml } from '../codec/yaml.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { Negotiated } from '../http/negotiate.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ListReply } from '../registry/reply.ts';

/** How one answer is written: the format, and what a table of it shows. */
export interface Presentation {
  readonly negotiated: Negotiated;
  readonly table: TableOptions;
}

/** What a list is sent as: a text before, the items joined by commas, a text after. */
export interface ListParts {
  readonly head: string;
  readonly items: Iterable<{ readonly bytes: Buffer }>;
  readonly tail: string;
}

/**
 * Makes what the client asked for of JSON bytes: whole objects, tables, metadata; JSON or YAML (spec section 4.3). The
 * plain case, whole objects in JSON, passes the bytes on without looking at them.
 */
export class Representation {
  readonly #metaVersion: string;
  readonly #clock: Clock;

  constructor(dialect: Dialect, clock: Clock) {
    this.#metaVersion = `${dialect.group('meta')}/v1`;
    this.#clock = clock;
  }

  /** Reads the parameters that say how an answer is written. */
  presentation(negotiated: Negotiated, kind: Kind | undefined, query: URLSearchParams): Presentation {
    return {
      negotiated,
      table: {
        columns: kind?.columns ?? [],
        includeObject:
          negotiated.as === 'Table' ? parseIncludeObject(query.get('includeObject') ?? undefined) : 'Metadata',
        metaVersion: this.#metaVersion,
        now: this.#clock.now(),
      },
    };
  }

  object(bytes: Buffer, { negotiated, table }: Presentation): Buffer {
    const { as, format, pretty } = negotiated;
    if (as === 'object' && format === 'json' && !pretty) return bytes;
    return write(this.#shown(bytes, negotiated, table), negotiated);
  }

  #shown(bytes: Buffer, { as }: Negotiated, table: TableOptions, headers: 'shown' | 'omitted' = 'shown'): unknown {
    const object = parseStored(bytes) as ApiObject;
    switch (as) {
      case 'object':
        return object;
      case 'Table':
        return tableOf(object, table, headers);
      case 'PartialObjectMetadata':
      case 'PartialObjectMetadataList':
        return partialObjectMetadata(object, this.#metaVersion);
    }
  }

  /** A list as it streams, where its format allows that: JSON on one line. */
  listParts({ served, metadata, items }: ListReply): ListParts {
    const { kind } = served;
    return {
      head: `{"kind":"${kind.listKind}","apiVersion":"${served.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
      items,
      tail: ']}\n',
    };
  }

  /** A list that must be made as a whole. */
  list(reply: ListReply, { negotiated, table }: Presentation): Buffer {
    const text = this.#listText(reply, negotiated, table);
    if (negotiated.format === 'json' && !negotiated.pretty) return Buffer.from(text);
    return write(parseStored(Buffer.from(text)), negotiated);
  }

  #listText(reply: ListReply, { as }: Negotiated, table: TableOptions): string {
    switch (as) {
      case 'Table':
        return join(encodeTable(objects(reply.items), reply.metadata, table));
      case 'PartialObjectMetadata':
      case 'PartialObjectMetadataList':
        return join(encodePartialObjectMetadataList(objects(reply.items), reply.metadata, this.#metaVersion));
      case 'object': {
        const { head, items, tail } = this.listParts(reply);
        return `${head}${Array.from(items, ({ bytes }) => bytes.toString()).join(',')}${tail}`;
      }
    }
  }

  /** The object of a watch event. `first` events of a table tell the columns. */
  eventObject(bytes: Buffer, { negotiated, table }: Presentation, first: 'first' | 'later'): Buffer {
    if (negotiated.as === 'object') return bytes;
    return Buffer.from(stringifyJson(this.#shown(bytes, negotiated, table, first === 'first' ? 'shown' : 'omitted')));
  }
}

function* objects(items: Iterable<CacheEntry>): IterableIterator<ApiObject> {
  for (const { bytes } of items) yield parseStored(bytes) as ApiObject;
}

const join = (pieces: Iterable<string>): string => [...pieces].join('');

function write(value: unknown, { format, pretty }: Negotiated): Buffer {
  return Buffer.from(format === 'yaml' ? formatYaml(value) : `${stringifyJson(value, { pretty })}\n`);
}
