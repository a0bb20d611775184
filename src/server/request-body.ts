import { limits } from '../base/limits.ts';
import { type ParsedJson, parseJson } from '../codec/json.ts';
import { openBrace } from '../codec/json-characters.ts';
import { decodeMessage } from '../codec/protobuf/decode.ts';
import { openEnvelope } from '../codec/protobuf/envelope.ts';
import { hasMessage } from '../codec/protobuf/message.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Format, type Negotiator, unsupportedMediaType } from '../http/negotiate.ts';
import { deleteOptions } from '../kinds/meta/delete-options.ts';
import { type PatchFormat, patchFormats, patchMediaTypes } from '../registry/patch-formats.ts';
import type { ServedResource } from '../registry/resource-registry.ts';
import type { RequestBody } from '../registry/verb.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { StructSchema } from '../schema/schema.ts';

/**
 * Reads the body of a request that may have one; undefined where there is none. The media type is checked before the
 * body is looked at.
 */
export function readBody(
  exchange: Exchange,
  info: ResourceRequest,
  served: ServedResource,
  negotiator: Negotiator,
): Promise<RequestBody | undefined> | undefined {
  switch (info.verb) {
    case 'get':
    case 'list':
    case 'watch':
      return undefined;
    case 'patch':
      return parsedPatch(exchange, patchType(exchange.header('content-type')));
    case 'create':
    case 'update':
    case 'delete':
    case 'deletecollection': {
      const expected = expectedBody(served, info);
      const format = negotiator.contentType(exchange.header('content-type'), { protobuf: hasMessage(expected.schema) });
      return parsed(exchange, parser(format, expected));
    }
  }
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

async function parsedPatch(exchange: Exchange, patch: PatchFormat): Promise<RequestBody | undefined> {
  // Every JSON document is a YAML document, and the quicker one to read.
  const body = await parsed(exchange, patch === 'apply' ? parseJsonOrYaml : parseJson);
  return body && { ...body, patch };
}

function parseJsonOrYaml(bytes: Uint8Array): ParsedJson {
  return bytes[0] === openBrace ? parseJson(bytes) : parseYaml(bytes);
}

async function parsed(exchange: Exchange, parse: Parser): Promise<RequestBody | undefined> {
  const bytes = await exchange.body(limits.bodyBytesMax);
  return bytes.length === 0 ? undefined : parse(bytes);
}
