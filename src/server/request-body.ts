import { limits } from '../base/limits.ts';
import { type ParsedJson, parseJson } from '../codec/json.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Negotiator, unsupportedMediaType } from '../http/negotiate.ts';
import { type PatchFormat, patchFormats, patchMediaTypes } from '../registry/patch-formats.ts';
import type { RequestBody } from '../registry/verb.ts';
import type { ResourceRequest } from '../request/request-info.ts';

/**
 * Reads the body of a request that may have one; undefined where there is none. The media type is checked before the
 * body is looked at.
 */
export function readBody(
  exchange: Exchange,
  { verb }: ResourceRequest,
  negotiator: Negotiator,
): Promise<RequestBody | undefined> | undefined {
  switch (verb) {
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
      const format = negotiator.contentType(exchange.header('content-type'));
      return parsed(exchange, format === 'yaml' ? parseYaml : parseJson);
    }
  }
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

const brace = 0x7b;

function parseJsonOrYaml(bytes: Uint8Array): ParsedJson {
  return bytes[0] === brace ? parseJson(bytes) : parseYaml(bytes);
}

async function parsed(exchange: Exchange, parse: (bytes: Uint8Array) => ParsedJson): Promise<ParsedJson | undefined> {
  const bytes = await exchange.body(limits.bodyBytesMax);
  return bytes.length === 0 ? undefined : parse(bytes);
}
