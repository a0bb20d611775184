import { asBuffer } from '../base/collections/byte-span.ts';
import { limits } from '../base/limits.ts';
import { inOwnTurn } from '../base/time/turns.ts';
import { parseStored, stringifyJson } from '../codec/json.ts';
import { parseStoredInSteps } from '../codec/json-steps.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Status } from '../meta/status-error.ts';
import type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';
import { readMetadata } from './read-metadata.ts';

/** An error response from the server. */
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

/** True for an ApiError with one of these reasons. */
export const hasReason = (error: unknown, ...reasons: readonly Status['reason'][]): boolean =>
  error instanceof ApiError && reasons.includes(error.status.reason);

/** True if the object that was asked for is not there; false if nothing is served at its path. */
export const isAbsence = (error: unknown): boolean =>
  error instanceof ApiError && error.status.reason === 'NotFound' && (error.status.details?.name ?? '') !== '';

/** True for an ApiError whose details contain this cause. */
export const hasCause = (error: unknown, reason: string): boolean =>
  error instanceof ApiError && (error.status.details?.causes ?? []).some((cause) => cause.reason === reason);

export interface ApiList<T = ApiObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** A watch event (spec section 6). */
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
   * Decides from the raw JSON line whether to skip an event. Searching a line for a word is many times cheaper than parsing it.
   * Skipped events are not returned.
   */
  readonly skip?: ((line: Buffer) => boolean) | undefined;
  /** Parses an event. Default: parses all of it. */
  readonly read?: ((line: Buffer) => ApiEvent) | undefined;
}

/** Steps of parsing that one turn of the event loop does. */
const stepsPerTurn = 4;

/** Parses what may be large, in turns of its own: others are not held up, and several that come at once do not add up. */
async function parseInTurns(bytes: Buffer): Promise<unknown> {
  if (bytes.length <= limits.inlineBytesMax) return parseStored(bytes);
  const steps = parseStoredInSteps(bytes);
  for (let count = 0; ; count++) {
    if (count % stepsPerTurn === 0) await ownTurn();
    const { done, value } = steps.next();
    if (done) return value;
  }
}

const ownTurn = (): Promise<void> => new Promise((resolve) => inOwnTurn(resolve));

/** JSON client of an API server. Each request is sent once; retries are up to the caller. */
export class ApiClient {
  readonly #transport: Transport;
  readonly #userAgent: string;
  readonly #accept: string;

  /** The server also derives the field manager of written fields from `userAgent`. */
  constructor(transport: Transport, userAgent: string, accept = 'application/json') {
    this.#transport = transport;
    this.#userAgent = userAgent;
    this.#accept = accept;
  }

  /** A client of the same server and identity that calls `check` before each request; if that throws, nothing is sent. */
  guarded(check: () => void): ApiClient {
    const transport = this.#transport;
    const guarded: Transport = {
      async send(request) {
        check();
        return transport.send(request);
      },
    };
    return new ApiClient(guarded, this.#userAgent, this.#accept);
  }

  /** A client of the same server and identity that prefers these media types; a server without them sends plain JSON. */
  accepting(mediaTypes: readonly string[]): ApiClient {
    return new ApiClient(this.#transport, this.#userAgent, [...mediaTypes, 'application/json'].join(','));
  }

  get<T = ApiObject>(target: string, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) });
  }

  /** Like `get`; undefined for an object that is not there. */
  async find<T = ApiObject>(target: string, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return await this.get<T>(target, signal);
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  /** The unparsed response body. */
  getBytes(target: string, signal?: AbortSignal): Promise<Buffer> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) }, (bytes) => bytes);
  }

  /** Parses only the metadata of large objects, without managedFields (see `read-metadata.ts`). */
  getMetadata(target: string, signal?: AbortSignal): Promise<ApiObject> {
    return this.#request({ method: 'GET', target, ...(signal && { signal }) }, readMetadata);
  }

  create<T = ApiObject>(target: string, object: unknown, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'POST', target, body: stringifyJson(object), ...(signal && { signal }) });
  }

  update<T = ApiObject>(target: string, object: unknown, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: 'PUT', target, body: stringifyJson(object), ...(signal && { signal }) });
  }

  /** Patches an object with a JSON merge patch (RFC 7386). */
  mergePatch<T = ApiObject>(target: string, patch: unknown, signal?: AbortSignal): Promise<T> {
    const body = stringifyJson(patch);
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.#request({ method: 'PATCH', target, body, headers, ...(signal && { signal }) });
  }

  /** Patches a built-in object with a strategic merge patch, which merges lists by their keys. */
  strategicPatch<T = ApiObject>(target: string, patch: unknown, signal?: AbortSignal): Promise<T> {
    const body = stringifyJson(patch);
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    return this.#request({ method: 'PATCH', target, body, headers, ...(signal && { signal }) });
  }

  /** Like `mergePatch`, but parses only metadata, like `getMetadata`. */
  mergePatchMetadata(target: string, patch: unknown, signal?: AbortSignal): Promise<ApiObject> {
    const body = stringifyJson(patch);
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.#request({ method: 'PATCH', target, body, headers, ...(signal && { signal }) }, readMetadata);
  }

  /** Deletes an object or, if the target is a collection, all objects that the query selects. */
  async delete(target: string, options: unknown = {}, signal?: AbortSignal): Promise<void> {
    await this.#request({ method: 'DELETE', target, body: stringifyJson(options), ...(signal && { signal }) });
  }

  /** Events of a watch, until the server ends it or the signal aborts. Throws ApiError if the server refuses it. */
  async *watch(target: string, { signal, skip, read }: WatchOptions): AsyncIterableIterator<ApiEvent> {
    const response = await this.#send({ method: 'GET', target, signal });
    for await (const chunk of wholeLines(response.body)) {
      for (const line of linesOf(chunk)) {
        const isLarge = line.length > limits.inlineBytesMax;
        // In-process watches of one large event would all read it within one turn of the event loop.
        if (isLarge) await ownTurn();
        if (skip?.(line)) continue;
        if (read) yield read(line);
        else yield (isLarge ? await parseInTurns(line) : parseStored(line)) as ApiEvent;
      }
    }
  }

  // parseStored instead of JSON.parse: the object may be written back, so large integers must survive (see codec/json.ts).
  async #request<T>(request: ClientRequest, read: (bytes: Buffer) => unknown = parseInTurns): Promise<T> {
    const response = await this.#send(request);
    return (await read(await bytesOf(response))) as T;
  }

  async #send(request: ClientRequest): Promise<ClientResponse> {
    // Redirects are not followed: their target must not receive the credential (CVE-2020-8559).
    const response = await this.#transport.send({
      ...request,
      headers: {
        accept: this.#accept,
        'user-agent': this.#userAgent,
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
        ...request.headers,
      },
    });
    if (response.status < 300) return response;
    throw new ApiError(statusOf((await bytesOf(response)).toString(), response.status), response.status);
  }
}

/** The Status of an error response. A proxy may have sent the response, with a body of another kind. */
function statusOf(body: string, code: number): Status {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'kind' in parsed && parsed.kind === 'Status') {
      return parsed as unknown as Status;
    }
  } catch {
    // Not JSON: a Status is built below.
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
  const [only, ...others] = chunks;
  return only && others.length === 0 ? asBuffer(only) : Buffer.concat(chunks);
}

/** The body in chunks that end at line breaks. An unterminated last line is dropped. */
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
