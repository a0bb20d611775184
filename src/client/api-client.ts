import { parseStored } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Status } from '../meta/status-error.ts';
import type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';
import { readMetadata } from './read-metadata.ts';

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

/** True for an ApiError with that cause among its details. */
export const hasCause = (error: unknown, reason: string): boolean =>
  error instanceof ApiError && (error.status.details?.causes ?? []).some((cause) => cause.reason === reason);

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

export interface WatchOptions {
  readonly signal: AbortSignal;
  /**
   * Says of an event as it came, one line of JSON, that nobody needs it: reading it costs many times what looking for a
   * word in it does. Events that are skipped are not told.
   */
  readonly skip?: ((line: Buffer) => boolean) | undefined;
  /** Reads an event; all of it where this is absent. */
  readonly read?: ((line: Buffer) => ApiEvent) | undefined;
}

const readEvent = (line: Buffer): ApiEvent => parseStored(line) as ApiEvent;

/** Speaks JSON with a server. Requests are sent once; who calls decides what to repeat. */
export class ApiClient {
  readonly #transport: Transport;
  readonly #userAgent: string;

  /** `userAgent` is also the name under which the server notes who owns the fields that are written. */
  constructor(transport: Transport, userAgent: string) {
    this.#transport = transport;
    this.#userAgent = userAgent;
  }

  get<T = ApiObject>(target: string, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) });
  }

  /** What the server answers, as it came. */
  getBytes(target: string, signal?: AbortSignal): Promise<Buffer> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) }, (bytes) => bytes);
  }

  /** For who looks at metadata only: of a large object the rest is not read, nor are managedFields (`read-metadata.ts`). */
  getMetadata(target: string, signal?: AbortSignal): Promise<ApiObject> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) }, readMetadata);
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

  /** The same for who looks at the metadata of the answer only. */
  mergePatchMetadata(target: string, patch: unknown, signal?: AbortSignal): Promise<ApiObject> {
    const body = JSON.stringify(patch);
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.#request({ method: 'PATCH', target, body, headers, ...(signal && { signal }) }, readMetadata);
  }

  /** Deletes one object or, at a collection's path, all that the query selects. */
  async delete(target: string, options: unknown = {}, signal?: AbortSignal): Promise<void> {
    await this.#request({ method: 'DELETE', target, body: JSON.stringify(options), ...(signal && { signal }) });
  }

  /** The events of a watch, until the server ends it or the signal aborts. Throws ApiError when it is refused. */
  async *watch(target: string, { signal, skip, read = readEvent }: WatchOptions): AsyncIterableIterator<ApiEvent> {
    const response = await this.#send({ method: 'GET', target, signal });
    for await (const chunk of wholeLines(response.body)) {
      for (const line of linesOf(chunk)) if (!skip?.(line)) yield read(line);
    }
  }

  // Not by the engine alone: what is read here may be written back whole (see codec/json.ts).
  async #request<T>(request: ClientRequest, read: (bytes: Buffer) => unknown = parseStored): Promise<T> {
    const response = await this.#send(request);
    return read(await bytesOf(response)) as T;
  }

  async #send(request: ClientRequest): Promise<ClientResponse> {
    // Redirects are not followed: where they lead was not meant to see the credential (CVE-2020-8559).
    const response = await this.#transport.send({
      ...request,
      headers: {
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
        ...request.headers,
      },
    });
    if (response.status < 300) return response;
    throw new ApiError(statusOf((await bytesOf(response)).toString(), response.status), response.status);
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

async function bytesOf({ body }: ClientResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The bytes of a body again, cut behind line breaks. What follows the last one is no line, and is left out. */
async function* wholeLines(body: AsyncIterable<Uint8Array>): AsyncIterableIterator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = bytes.lastIndexOf(lineBreak) + 1;
    if (end === 0) {
      rest.push(bytes);
      continue;
    }
    yield rest.length === 0 ? bytes.subarray(0, end) : Buffer.concat([...rest, bytes.subarray(0, end)]);
    rest = end < bytes.length ? [bytes.subarray(end)] : [];
  }
}

const lineBreak = 0x0a;

function* linesOf(chunk: Buffer): IterableIterator<Buffer> {
  for (let start = 0; start < chunk.length; ) {
    const end = chunk.indexOf(lineBreak, start);
    if (end > start) yield chunk.subarray(start, end);
    start = end + 1;
  }
}
