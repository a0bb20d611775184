import { type ParsedJson, parseJson } from '../codec/json.ts';
import { openBrace } from '../codec/json-characters.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { Exchange } from '../http/exchange.ts';
import { deleteOptions } from '../kinds/meta/delete-options.ts';
import type { RequestBody } from '../registry/verb.ts';
import { type PatchFormat, patchFormats, patchMediaTypes } from '../registry/write/patch-formats.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { ExpectedBody } from './formats/format.ts';
import { formatNamed } from './formats/formats.ts';
import { type Negotiator, unsupportedMediaType } from './negotiation.ts';

/** Form of a request body, by its media type: plain data, so that another thread can parse the body. */
export type BodyForm =
  | { readonly type: 'whole'; readonly format: string }
  | { readonly type: 'patch'; readonly patch: PatchFormat };

/** The resource that a request addresses. */
interface Addressed {
  readonly info: ResourceRequest;
  readonly served: Pick<ServedResource, 'kind'>;
}

/** Form of the request body, determined before the body is read; undefined for verbs that only read. */
export function bodyForm(
  exchange: Exchange,
  { info, served }: Addressed,
  negotiator: Negotiator,
): BodyForm | undefined {
  switch (info.verb) {
    case 'get':
    case 'list':
    case 'watch':
      return undefined;
    case 'patch':
      return { type: 'patch', patch: patchType(exchange.header('content-type')) };
    case 'create':
    case 'update':
    case 'delete':
    case 'deletecollection': {
      const { schema } = expectedBody(served, info);
      return { type: 'whole', format: negotiator.contentType(exchange.header('content-type'), { schema }) };
    }
  }
}

/** Parses a body; undefined if it is empty. */
export function parseBody(bytes: Uint8Array, form: BodyForm, { info, served }: Addressed): RequestBody | undefined {
  if (bytes.length === 0) return undefined;
  if (form.type === 'whole') return formatNamed(form.format).decode(bytes, expectedBody(served, info));
  const { patch } = form;
  // Every JSON document is a YAML document, but faster to parse as JSON.
  return { ...(patch === 'apply' ? parseJsonOrYaml(bytes) : parseJson(bytes)), patch };
}

function expectedBody({ kind }: Pick<ServedResource, 'kind'>, { verb, subresource }: ResourceRequest): ExpectedBody {
  if (verb === 'delete' || verb === 'deletecollection') return { kind: 'DeleteOptions', schema: deleteOptions };
  const found = kind.subresources.find(({ name }) => name === subresource);
  return found?.type === 'action' ? found.body : kind;
}

function patchType(header: string | undefined): PatchFormat {
  const type = patchFormats.get((header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (type === undefined) throw unsupportedMediaType(patchMediaTypes);
  return type;
}

function parseJsonOrYaml(bytes: Uint8Array): ParsedJson {
  return bytes[0] === openBrace ? parseJson(bytes) : parseYaml(bytes);
}
