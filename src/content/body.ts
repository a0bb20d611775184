import { type ParsedJson, parseJson } from '../codec/json.ts';
import { openBrace } from '../codec/json-characters.ts';
import { decodeMessage } from '../codec/protobuf/decode.ts';
import { openEnvelope } from '../codec/protobuf/envelope.ts';
import { hasMessage } from '../codec/protobuf/message.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { Exchange } from '../http/exchange.ts';
import { deleteOptions } from '../kinds/meta/delete-options.ts';
import type { RequestBody } from '../registry/verb.ts';
import { type PatchFormat, patchFormats, patchMediaTypes } from '../registry/write/patch-formats.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { StructSchema } from '../schema/schema.ts';
import { type Format, type Negotiator, unsupportedMediaType } from './negotiation.ts';

/** What a request's body is, by its media type: plain data, so that it can be read on another thread. */
export type BodyForm =
  | { readonly type: 'whole'; readonly format: Format }
  | { readonly type: 'patch'; readonly patch: PatchFormat };

/** What a request is about. */
interface Addressed {
  readonly info: ResourceRequest;
  readonly served: ServedResource;
}

/** The form of the body of a request that may have one, before the body is looked at; undefined for requests that read. */
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
      const protobuf = hasMessage(expectedBody(served, info).schema);
      return { type: 'whole', format: negotiator.contentType(exchange.header('content-type'), { protobuf }) };
    }
  }
}

/** Reads a body; undefined where none was sent. */
export function parseBody(bytes: Uint8Array, form: BodyForm, { info, served }: Addressed): RequestBody | undefined {
  if (bytes.length === 0) return undefined;
  if (form.type === 'whole') return parser(form.format, expectedBody(served, info))(bytes);
  const { patch } = form;
  // Every JSON document is a YAML document, and the quicker one to read.
  return { ...(patch === 'apply' ? parseJsonOrYaml(bytes) : parseJson(bytes)), patch };
}

interface ExpectedBody {
  readonly kind: string;
  readonly schema: StructSchema;
}

function expectedBody({ kind }: ServedResource, { verb, subresource }: ResourceRequest): ExpectedBody {
  if (verb === 'delete' || verb === 'deletecollection') return { kind: 'DeleteOptions', schema: deleteOptions };
  const found = kind.subresources.find(({ name }) => name === subresource);
  return found?.type === 'action' ? found.body : kind;
}

type Parser = (bytes: Uint8Array) => RequestBody;

function parser(format: Format, expected: ExpectedBody): Parser {
  switch (format) {
    case 'json':
      return parseJson;
    case 'yaml':
      return parseYaml;
    case 'protobuf':
      return (bytes) => parseProtobuf(bytes, expected);
  }
}

/** An object of another kind is not looked into: the registry refuses it for its name. */
function parseProtobuf(bytes: Uint8Array, expected: ExpectedBody): RequestBody {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  if (kind !== '' && kind !== expected.kind) return { value: { apiVersion, kind }, duplicates: [] };
  const { value, unknown } = decodeMessage(expected.schema, raw);
  return { value: { apiVersion, kind, ...value }, duplicates: [], unknown };
}

function patchType(header: string | undefined): PatchFormat {
  const type = patchFormats.get((header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (type === undefined) throw unsupportedMediaType(patchMediaTypes);
  return type;
}

function parseJsonOrYaml(bytes: Uint8Array): ParsedJson {
  return bytes[0] === openBrace ? parseJson(bytes) : parseYaml(bytes);
}
