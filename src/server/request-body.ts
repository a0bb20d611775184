import { limits } from '../base/limits.ts';
import { type ParsedJson, parseJson } from '../codec/json.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Negotiator, unsupportedMediaType } from '../http/negotiate.ts';
import { patchTypes } from '../registry/operations.ts';
import type { ResourceRequest } from '../request/request-info.ts';

/**
 * Reads the body of a request that may have one; undefined where there is none. The media type is checked before the
 * body is looked at.
 */
export function readBody(
  exchange: Exchange,
  { verb }: ResourceRequest,
  negotiator: Negotiator,
): Promise<ParsedJson | undefined> | undefined {
  switch (verb) {
    case 'get':
    case 'list':
    case 'watch':
      return undefined;
    case 'patch':
      checkPatchType(exchange.header('content-type'));
      return parsed(exchange, parseJson);
    case 'create':
    case 'update':
    case 'delete':
    case 'deletecollection': {
      const format = negotiator.contentType(exchange.header('content-type'));
      return parsed(exchange, format === 'yaml' ? parseYaml : parseJson);
    }
  }
}

function checkPatchType(header: string | undefined): void {
  const mediaType = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!patchTypes.includes(mediaType)) throw unsupportedMediaType(patchTypes);
}

async function parsed(exchange: Exchange, parse: (bytes: Uint8Array) => ParsedJson): Promise<ParsedJson | undefined> {
  const bytes = await exchange.body(limits.bodyBytesMax);
  return bytes.length === 0 ? undefined : parse(bytes);
}
