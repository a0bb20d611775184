import type { ApiObject } from '../../src/meta/api-object.ts';
import type { ClientRequest, Transport } from '../../src/outbound/transport.ts';
import { patchMediaTypes } from '../../src/registry/write/patch-formats.ts';

/** What a server answers, errors included. */
export interface Answer {
  readonly code: number;
  readonly body: ApiObject;
  /** The body as it came. */
  readonly text: string;
  /** Of a Status; '' otherwise. */
  readonly message: string;
}

type PatchName = 'json' | 'merge' | 'strategic';

/** Sends requests of any kind and reads their answers, which are JSON. */
export function answersOf(transport: () => Transport) {
  const exchange = async (request: ClientRequest): Promise<Answer> => {
    const response = await transport().send(request);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = JSON.parse(text) as ApiObject;
    return { code: response.status, body, text, message: body.kind === 'Status' ? String(body['message']) : '' };
  };
  const send = (method: ClientRequest['method'], target: string, body?: unknown, type = 'application/json') =>
    exchange({
      ...{ method, target },
      ...(body !== undefined && { headers: { 'content-type': type }, body: JSON.stringify(body) }),
    });
  const patched = (format: PatchName | 'apply', target: string, parameters: readonly string[], body: unknown) => {
    const type = patchMediaTypes.find(({ patch }) => patch === format)?.mediaType;
    const query = parameters.length > 0 ? `${target.includes('?') ? '&' : '?'}${parameters.join('&')}` : '';
    return send('PATCH', `${target}${query}`, body, type);
  };
  return {
    exchange,
    send,
    patch: (type: PatchName, target: string, body: unknown, manager?: string) =>
      patched(type, target, manager === undefined ? [] : [`fieldManager=${manager}`], body),
    apply: (target: string, body: unknown, manager: string, { force = false } = {}) =>
      patched('apply', target, [`fieldManager=${manager}`, ...(force ? ['force=true'] : [])], body),
  };
}
