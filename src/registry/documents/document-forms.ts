import { limits } from '../../base/limits.ts';
import { parseStored, stringifyJson } from '../../codec/json.ts';
import { encodeOpenapi } from '../../codec/protobuf/openapi/encode.ts';
import { formatYaml } from '../../codec/yaml.ts';
import type { ApiDocument } from './documents.ts';

/** How a document is written; `pretty` is JSON for people. */
export type DocumentForm = 'json' | 'pretty' | 'yaml' | 'protobuf';

/**
 * The bytes of documents in forms other than the JSON that they are kept in: made when they are first asked for, and kept
 * up to `limits.documentFormBytesMax` in all; what was not asked for the longest goes first.
 */
export class DocumentForms {
  readonly #kept = new Map<string, Buffer>();
  #bytes = 0;

  bytes(document: ApiDocument, form: DocumentForm): Buffer {
    if (form === 'json') return document.json;
    const key = `${document.hash} ${form}`;
    const bytes = this.#kept.get(key);
    if (!bytes) return this.#keep(key, writeDocument(document, form));
    this.#kept.delete(key);
    this.#kept.set(key, bytes);
    return bytes;
  }

  #keep(key: string, bytes: Buffer): Buffer {
    if (bytes.length > limits.documentFormBytesMax) return bytes;
    this.#kept.set(key, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, its] of this.#kept) {
      if (this.#bytes <= limits.documentFormBytesMax) break;
      this.#kept.delete(oldest);
      this.#bytes -= its.length;
    }
    return bytes;
  }
}

/** The bytes of a form, made anew. */
export function writeDocument({ json, openapi }: Pick<ApiDocument, 'json' | 'openapi'>, form: DocumentForm): Buffer {
  if (form === 'json') return json;
  const value = parseStored(json);
  switch (form) {
    case 'yaml':
      return Buffer.from(formatYaml(value));
    case 'pretty':
      return Buffer.from(`${stringifyJson(value, { pretty: true })}\n`);
    case 'protobuf':
      if (!openapi) throw new Error('only OpenAPI documents have a protobuf form');
      return encodeOpenapi(value, openapi);
  }
}

/**
 * The entity tag of a form, compressed or not: each has its own, for a tag stands for the bytes (RFC 9110 section 8.8.3).
 * That of the JSON alone is its hash, as published. The others follow from it, so nothing need be made to know them.
 */
export function entityTag({ hash }: ApiDocument, form: DocumentForm, { gzip }: { readonly gzip: boolean }): string {
  return `"${hash}${form === 'json' ? '' : `-${form}`}${gzip ? '-gzip' : ''}"`;
}
