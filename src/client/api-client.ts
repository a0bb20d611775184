import type { ApiObject } from '../meta/api-object.ts';
import type { Status } from '../meta/status-error.ts';
import type { ClientRequest, ClientResponse, Transport } from './transport.ts';

/** What the server answered when it refused a request. */
export class ApiError extends Error {
  readonly status: Status;
  readonly code: number;

  constructor(status: Status, code: number) {
    super(status.message ?? `the server answered ${code}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/** True for an ApiError with that reason. */
export const hasReason = (error: unknown, reason: Status['reason']): boolean =>
  error instanceof ApiError && error.status.reason === reason;

export interface ApiList<T = ApiObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** One event of a watch (spec section 6). */
export type ApiEvent =
  | ObjectEvent
  | { readonly type: 'BOOKMARK'; readonly object: ApiObject }
  | { readonly type: 'ERROR'; readonly object: Status };

/** A change of one object. */
export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

/** Speaks JSON with a server. Requests are sent once; who calls decides what to repeat. */
export class ApiClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get<T = ApiObject>(target: string, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) });
  }

  create<T = ApiObject>(target: string, object: unknown, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'POST', target, body: JSON.stringify(object), ...(signal && { signal }) });
  }

  update<T = ApiObject>(target: string, object: unknown, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'PUT', target, body: JSON.stringify(object), ...(signal && { signal }) });
  }

  /** Changes parts of an object by a JSON merge patch (RFC 7386). */
  mergePatch<T = ApiObject>(target: string, patch: unknown, signal?: AbortSignal): Promise<T> {
    const body = JSON.stringify(patch);
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.#request({ method: 'PATCH', target, body, headers, ...(signal && { signal }) });
  }

  /** Deletes one object or, at a collection's path, all that the query selects. */
  async delete(target: string, options: unknown = {}, signal?: AbortSignal): Promise<void> {
    await this.#request({ method: 'DELETE', target, body: JSON.stringify(options), ...(signal && { signal }) });
  }

  /** The events of a watch, until the server ends it or the signal aborts. Throws ApiError when it is refused. */
  async *watch(target: string, signal: AbortSignal): AsyncIterableIterator<ApiEvent> {
    const response = await this.#send({ method: 'GET', target, signal });
    for await (const line of lines(response.body)) yield JSON.parse(line);
  }

  async #request<T>(request: ClientRequest): Promise<T> {
    const response = await this.#send(request);
    return JSON.parse(await text(response)) as T;
  }

  async #send(request: ClientRequest): Promise<ClientResponse> {
    const response = await this.#transport.send({
      ...request,
      headers: {
        accept: 'application/json',
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
        ...request.headers,
      },
    });
    if (response.status < 400) return response;
    throw new ApiError(statusOf(await text(response), response.status), response.status);
  }
}

/** Not every refusal is from the server: a proxy in between answers in words of its own. */
function statusOf(body: string, code: number): Status {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'kind' in parsed && parsed.kind === 'Status') {
      return parsed as unknown as Status;
    }
  } catch {
    // not JSON: made into a Status below
  }
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    message: `the server answered ${code}`,
  };
}

async function text({ body }: ClientResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncIterableIterator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') yield line;
  }
}
