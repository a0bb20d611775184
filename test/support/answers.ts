import type { ApiObject } from '../../src/meta/api-object.ts';
import type { ClientRequest, ClientResponse, Transport } from '../../src/outbound/transport.ts';
import { patchMediaTypes } from '../../src/registry/write/patch-formats.ts';
import type { OrchProcess } from './orch-process.ts';

/** What a server answers, errors included. */
export interface Answer {
  readonly code: number;
  /** Empty if it is not JSON. */
  readonly body: ApiObject;
  /** The body as it came. */
  readonly text: string;
  /** Of a Status; '' otherwise. */
  readonly message: string;
  /** Texts of `Warning` headers, of servers in a process of their own. */
  readonly warnings: readonly string[];
}

type PatchName = 'json' | 'merge' | 'strategic';

interface WarnedResponse extends ClientResponse {
  readonly warnings?: readonly string[];
}

/** Sends requests of any kind and reads their answers. */
export function answersOf(transport: () => { send(request: ClientRequest): Promise<WarnedResponse> }) {
  const exchange = async (request: ClientRequest): Promise<Answer> => {
    const { status: code, body: parts, warnings = [] } = await transport().send(request);
    const chunks: Uint8Array[] = [];
    for await (const chunk of parts) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = (text.startsWith('{') ? JSON.parse(text) : {}) as ApiObject;
    return { code, body, text, message: body.kind === 'Status' ? String(body['message']) : '', warnings };
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

/** The admin's requests to a server in a process of its own, with the warnings that it answers. */
export const processTransport = (
  server: () => OrchProcess,
): Transport & { send(request: ClientRequest): Promise<WarnedResponse> } => ({
  async send({ method, target, headers, body }) {
    const answer = await server().request(method, target, { headers, body });
    const all = String(answer.headers['warning'] ?? '');
    const warnings = [...all.matchAll(/299 - ("(?:\\.|[^"\\])*")/g)].map(([, text = '']) => JSON.parse(text) as string);
    return { status: answer.status, body: oneChunk(answer.bytes), warnings };
  },
});

async function* oneChunk(bytes: Uint8Array): AsyncIterableIterator<Uint8Array> {
  yield bytes;
}
