import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { contentOfLazy } from '../../kinds/documented-schema.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { SchemaEntry } from '../../schema/openapi.ts';
import { JsonText } from './json-pieces.ts';

/** Of any scope of the process, by what determines them, the least recently used first. */
const texts = new Map<string, Buffer>();
let bytes = 0;

/**
 * What the documents of version 3 have of the schemas of custom resources. Kept for the next document, of which most kinds
 * are as they were. One for each document that is made.
 */
export class KeptSchemas {
  readonly #dialect: Dialect;
  /** Keys of those to be kept, by name in the document. */
  readonly #keys = new Map<string, string>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The schema of a kind that has this name in the document. Undefined if it is to be made, and passed to `taken`. */
  of(kind: Kind, name: string): JsonText | undefined {
    const key = `${this.#dialect.name} ${contentOfLazy(kind)}`;
    const known = texts.get(key);
    if (!known) {
      this.#keys.set(name, key);
      return undefined;
    }
    texts.delete(key);
    texts.set(key, known);
    return new JsonText(known.toString());
  }

  /** The entry as it is to be written. */
  taken(entry: SchemaEntry): SchemaEntry {
    const [name, schema] = entry;
    const key = this.#keys.get(name);
    if (key === undefined) return entry;
    const text = JSON.stringify(schema);
    keep(key, Buffer.from(text));
    return [name, new JsonText(text)];
  }
}

function keep(key: string, text: Buffer): void {
  if (text.length > limits.documentedSchemasBytesMax || texts.has(key)) return;
  texts.set(key, text);
  bytes += text.length;
  for (const [oldest, its] of texts) {
    if (bytes <= limits.documentedSchemasBytesMax) break;
    texts.delete(oldest);
    bytes -= its.length;
  }
}
