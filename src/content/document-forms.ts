import { limits } from '../base/limits.ts';
import { parseStored } from '../codec/json.ts';
import { encodeOpenapi } from '../codec/protobuf/openapi/encode.ts';
import { discoveryDocuments } from '../kinds/meta/discovery-documents.ts';
import type { ApiDocument, DocumentMessage } from '../registry/documents/documents.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Shown } from './formats/format.ts';
import { formatNamed } from './formats/formats.ts';
import { json as jsonFormat } from './formats/json.ts';
import { protobuf } from './formats/protobuf.ts';

/** Encoding of a document: the name of a format, or `pretty` for indented JSON. */
export type DocumentForm = string;

/**
 * Cache of documents in forms other than their stored JSON. A form is encoded on first use; the least recently used
 * are evicted beyond `limits.documentFormBytesMax` in total.
 */
export class DocumentForms {
  readonly #kept = new Map<string, Buffer>();
  #bytes = 0;
  readonly #underWay = new Map<string, Promise<Buffer>>();

  bytes(document: ApiDocument, form: DocumentForm): Buffer {
    return this.#known(document, form) ?? this.#keep(keyOf(document, form), writeDocument(document, form));
  }

  /** The same, with `make` for a form that is not cached. Concurrent requests share one call of it. */
  bytesMade(document: ApiDocument, form: DocumentForm, make: () => Promise<Buffer>): Buffer | Promise<Buffer> {
    const known = this.#known(document, form);
    if (known) return known;
    const key = keyOf(document, form);
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const made = make()
      .then((bytes) => this.#keep(key, bytes))
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, made);
    return made;
  }

  #known(document: ApiDocument, form: DocumentForm): Buffer | undefined {
    if (form === 'json') return document.json;
    const key = keyOf(document, form);
    const bytes = this.#kept.get(key);
    if (!bytes) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, bytes);
    return bytes;
  }

  #keep(key: string, bytes: Buffer): Buffer {
    if (bytes.length > limits.documentFormBytesMax || this.#kept.has(key)) return bytes;
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

const keyOf = ({ hash }: ApiDocument, form: DocumentForm): string => `${hash} ${form}`;

/** Encodes a document in a form, without the cache. */
export function writeDocument({ json, message }: Pick<ApiDocument, 'json' | 'message'>, form: DocumentForm): Buffer {
  return form === 'json' ? json : writeShown(parseStored(json), message, form);
}

/** The same for a document that was parsed, in a form other than plain JSON. */
export function writeShown(value: unknown, message: DocumentMessage | undefined, form: DocumentForm): Buffer {
  if (form === protobuf.name) return documentMessage(value, message);
  const pretty = form === 'pretty';
  return formatNamed(pretty ? jsonFormat.name : form).encode(value as Shown, { pretty, schemaOf: noSchema });
}

function documentMessage(value: unknown, message: DocumentMessage | undefined): Buffer {
  switch (message) {
    case 'openapi v2':
      return encodeOpenapi(value, 2);
    case 'openapi v3':
      return encodeOpenapi(value, 3);
    case 'discovery':
      return protobuf.encode({ ...noVersion, ...(value as Shown) }, { pretty: false, schemaOf: discoverySchema });
    case undefined:
      throw new TypeError('the document has no protobuf form');
  }
}

/** `/api` names no version. */
const noVersion: { readonly apiVersion?: string } = { apiVersion: '' };

function discoverySchema(kind: string): StructSchema {
  const schema = discoveryDocuments.get(kind);
  if (!schema) throw new TypeError(`no discovery document is of the kind ${kind}`);
  return schema;
}

/** The text formats need no schema. */
function noSchema(): never {
  throw new TypeError('a document has no schema');
}

/**
 * The entity tag of a form, with or without compression: each has its own, since a tag identifies the bytes (RFC 9110
 * section 8.8.3). Plain JSON has its hash, as in kube-apiserver. The others derive from it, so the form need not be
 * encoded.
 */
export function entityTag(
  { hash }: Pick<ApiDocument, 'hash'>,
  form: DocumentForm,
  { gzip }: { readonly gzip: boolean },
): string {
  return `"${hash}${form === 'json' ? '' : `-${form}`}${gzip ? '-gzip' : ''}"`;
}
