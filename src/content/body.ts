import { limits } from '../base/limits.ts';
import { openBrace } from '../codec/json-characters.ts';
import type { Exchange } from '../http/exchange.ts';
import { bodyKind } from '../kinds/body-kind.ts';
import { outlineOf } from '../kinds/lazy-schema.ts';
import { deleteOptions } from '../kinds/meta/delete-options.ts';
import type { RequestBody } from '../registry/verb.ts';
import type { PatchFormat } from '../registry/write/patch-formats.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import { isRecord } from '../schema/own-property.ts';
import type { ExpectedBody, Format } from './formats/format.ts';
import { formatNamed } from './formats/formats.ts';
import { json } from './formats/json.ts';
import { yaml } from './formats/yaml.ts';
import type { Negotiator } from './negotiation.ts';

/** Form of a request body, by its media type: plain data, so that another thread can parse the body. */
export type BodyForm =
  | { readonly type: 'whole'; readonly format: string }
  | { readonly type: 'patch'; readonly format: string; readonly patch: PatchFormat };

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
      return { type: 'patch', ...negotiator.patchType(exchange.header('content-type'), served.kind.withoutPatches) };
    case 'create':
    case 'update':
    case 'delete':
    case 'deletecollection': {
      const schema = outlineOf(expectedBody(served, info));
      // A deletion needs none; curl says that nothing is a form.
      const isNone = exchange.method === 'DELETE' && exchange.header('content-length') === '0';
      return {
        type: 'whole',
        format: negotiator.contentType(isNone ? undefined : exchange.header('content-type'), { schema }),
      };
    }
  }
}

/** Parses a body; undefined if it is empty. `elementsMax` is that of `ExpectedBody`. */
export function parseBody(
  bytes: Uint8Array,
  form: BodyForm,
  { info, served }: Addressed,
  elementsMax: number = limits.elementsMax,
): RequestBody | undefined {
  if (bytes.length === 0) return undefined;
  const { kind, schema } = expectedBody(served, info);
  const body = formatOf(form, bytes).decode(bytes, { kind, schema, elementsMax });
  return form.type === 'patch' ? { ...body, patch: form.patch } : body;
}

/** The format of a body. A configuration to be applied is usually JSON, which is faster to parse as what it is. */
export function formatOf(form: BodyForm, bytes: Uint8Array): Format {
  const format = formatNamed(form.format);
  return form.type === 'patch' && format === yaml && bytes[0] === openBrace ? json : format;
}

/** True if a body says that it is of another kind than the path takes: it is refused, whatever is in it. */
export function saysOtherKind(value: unknown, { info, served }: Addressed): boolean {
  const kind = isRecord(value) ? (value['kind'] ?? '') : '';
  return kind !== '' && kind !== expectedBody(served, info).kind;
}

function expectedBody({ kind }: Pick<ServedResource, 'kind'>, { verb, subresource }: ResourceRequest): ExpectedBody {
  if (verb === 'delete' || verb === 'deletecollection') return { kind: 'DeleteOptions', schema: deleteOptions };
  return bodyKind(kind, subresource);
}
