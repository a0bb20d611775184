import type { Readable } from 'node:stream';
import type { RosterPlace } from '../base/collections/roster.ts';
import type { Span } from '../base/span.ts';
import { StatusError } from '../meta/status-error.ts';
import type { BodyWriter, Ending, Exchange, Headers, Peer } from './exchange.ts';
import type { Sender } from './flood-gate.ts';
import { nullWriter } from './response-writer.ts';
import { Warnings } from './warning.ts';

/** Abort reason when the client disconnected before it had the whole response. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the stream before the response was complete');
    this.name = 'ClientGone';
  }
}

/** Shared: capturing a stack for each of thousands of streams that end with their connections is slow. */
export const clientGone = new ClientGone();

/** The connection that an exchange belongs to. */
export interface ExchangeOwner {
  readonly peer: Peer;
  /** Headers of every response, alternating names and values. */
  readonly headers: readonly string[];
  /** Counts a request for its sender; undefined for one whose connections are never held. */
  sentBy(sender: Sender | undefined): void;
  /** No more than `outputBytesSmall` may be written at once now. */
  readonly writesLittle: boolean;
  /** Whether more than that may be written at once, see Connection. */
  mayWriteLarge(): boolean;
  /** The exchange is over: the response was sent, or the client is gone. */
  ended(exchange: BaseExchange): void;
}

/**
 * Common base of HTTP/1.1 and HTTP/2 exchanges. Created for every request, so it allocates lazily: no
 * AbortController, callback list or map of response headers until needed.
 */
export abstract class BaseExchange implements Exchange {
  abstract readonly protocol: 'HTTP/1.1' | 'HTTP/2.0';
  readonly method: string;
  readonly target: string;
  readonly #owner: ExchangeOwner;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;
  #endCallbacks: (() => void)[] | undefined;
  #ended = false;
  #body: Promise<Buffer> | undefined;
  #failBody: ((reason: Error) => void) | undefined;
  /** Headers from `setHeader`, alternating names and values; undefined if there are none. */
  #added: string[] | undefined;
  #warnings: Warnings | undefined;
  /** A response was started. */
  responded = false;
  /** The whole response was written; only the client's reading is pending. */
  answered = false;
  status = 0;
  bodyBytes = 0;
  ending: Ending | undefined = undefined;
  /** The server aborts the response; set before the stream or connection ends. */
  protected cutOff = false;
  /** Listener sweeps since `answered`; counted here so that requests need not read the clock. */
  sweepsAnswered = 0;
  /** Among the exchanges of its connection. */
  place: RosterPlace = 0;
  #hidden: ((name: string) => boolean) | undefined;
  local: boolean | undefined = undefined;
  annotate: ((key: string, value: string) => void) | undefined = undefined;
  answersObject: ((json: Uint8Array) => void) | undefined = undefined;
  span: Span | undefined = undefined;
  auditId: string | undefined = undefined;
  beforeResponse: ((status: number) => Promise<unknown> | undefined) | undefined = undefined;

  constructor(owner: ExchangeOwner, method: string, target: string) {
    this.#owner = owner;
    this.method = method;
    this.target = target;
  }

  get peer(): Peer {
    return this.#owner.peer;
  }

  /** The flat list of names and values of a response, starting with `first`. */
  protected responseHeaders(first: readonly string[], headers: Headers): string[] {
    return headerList(first, headers, { added: this.added, always: this.#owner.headers });
  }

  sentBy(sender: Sender | undefined): void {
    this.#owner.sentBy(sender);
  }

  get writesLittle(): boolean {
    return this.#owner.writesLittle;
  }

  protected mayWriteLarge(): boolean {
    return this.#owner.mayWriteLarge();
  }

  header(name: string): string | undefined {
    const value = this.sentHeader(name);
    // Most headers that are asked for are absent.
    return value !== undefined && this.#hidden?.(name) ? undefined : value;
  }

  headerLines(name: string): readonly string[] {
    return this.#hidden?.(name) ? [] : this.sentLines(name);
  }

  headerNames(): readonly string[] {
    const hidden = this.#hidden;
    return hidden ? this.sentNames().filter((name) => !hidden(name)) : this.sentNames();
  }

  hasHeaderPrefix(prefix: string): boolean {
    if (!this.hasSentPrefix(prefix)) return false;
    return !this.#hidden || this.headerNames().some((name) => name.startsWith(prefix));
  }

  hideHeaders(isHidden: (name: string) => boolean): void {
    const before = this.#hidden;
    this.#hidden = before ? (name) => before(name) || isHidden(name) : isHidden;
  }

  /** Like the methods of the interface, but including hidden headers. */
  protected abstract sentHeader(name: string): string | undefined;
  protected abstract sentLines(name: string): readonly string[];
  protected abstract sentNames(): readonly string[];
  protected abstract hasSentPrefix(prefix: string): boolean;
  respond(status: number, headers: Headers, body?: Uint8Array | string): void {
    const before = this.beforeResponse;
    this.beforeResponse = undefined;
    const waiting = before?.(status);
    if (!waiting) {
      this.send(status, headers, body);
      return;
    }
    // Nobody else may respond meanwhile.
    this.responded = true;
    this.status = status;
    // Nobody waits for an error: the client sees that there is no response.
    waiting.then(() => this.send(status, headers, body)).catch(() => this.destroy());
  }

  /** Sends a whole response. */
  protected abstract send(status: number, headers: Headers, body?: Uint8Array | string): void;
  stream(status: number, headers: Headers): BodyWriter {
    const before = this.beforeResponse;
    this.beforeResponse = undefined;
    const writer = this.begin(status, headers);
    if (before && writer !== nullWriter) holdEnd(writer, () => before(status));
    return writer;
  }

  /** Starts a response whose body follows. */
  protected abstract begin(status: number, headers: Headers): BodyWriter;
  abstract destroy(): void;
  /** Bytes of the response that wait in the stream. */
  protected abstract get buffered(): number;
  /** False if the request ended with its headers. */
  protected abstract get hasBody(): boolean;
  /** Sends `100 Continue` if the client waits for it (RFC 9110 section 10.1.1). */
  protected abstract sendContinue(): void;
  /** Passes on the parts of the body as they arrive. */
  protected abstract readBody(on: BodyEvents): void;
  /** The body as a stream that makes the client wait while it is not read. */
  protected abstract streamBody(): Readable;
  /** Stops reading the body; the connection or stream ends after the response. */
  protected abstract refuseBody(): void;

  get unsent(): number {
    return this.#ended ? 0 : this.buffered;
  }

  /** The exchange was aborted. */
  protected get aborted(): boolean {
    return this.#abortReason !== undefined;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortReason) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#abortReason || this.#ended) return;
    this.#abortReason = reason;
    this.#failBody?.(reason);
    this.#controller?.abort(reason);
  }

  setHeader(name: string, value: string | readonly string[]): void {
    const lines = typeof value === 'string' ? [value] : value;
    // Reject it here, where the mistake is: when the response is sent, it is too late for an error.
    for (const line of lines)
      if (invalidHeaderText.test(line)) throw new TypeError(`header ${name} has an invalid value`);
    this.#added ??= [];
    pushHeader(this.#added, name, lines);
  }

  warn(text: string): void {
    this.#warnings ??= new Warnings();
    this.#warnings.add(text);
  }

  /** Response headers added by stages, alternating names and values; read once, when the response starts. */
  protected get added(): readonly string[] | undefined {
    if (!this.#warnings) return this.#added;
    const added = this.#added ?? [];
    pushHeader(added, 'warning', this.#warnings.headers());
    return added;
  }

  onEnd(callback: () => void): void {
    if (this.#ended) callback();
    else if (this.#endCallbacks) this.#endCallbacks.push(callback);
    else this.#endCallbacks = [callback];
  }

  /** The connection closed. Node does not report that for every request in progress on it. */
  connectionClosed(): void {
    this.end(false);
  }

  /** Must be called once, when nothing more can be sent or received. */
  protected end(complete: boolean): void {
    if (this.#ended) return;
    this.#failBody?.(bodyCut());
    if (!complete) this.abort(clientGone);
    this.#ended = true;
    this.ending = complete ? 'complete' : this.cutOff ? 'cutOff' : 'clientGone';
    this.#owner.ended(this);
    if (this.#endCallbacks) for (const callback of this.#endCallbacks) callback();
  }

  body(bytesMax: number, received?: (bytes: number) => void): Promise<Buffer> {
    this.#body ??= this.#readWhole(bytesMax, received);
    return this.#body;
  }

  bodyStream(): Readable | undefined {
    if (!this.hasBody) return undefined;
    this.sendContinue();
    return this.streamBody();
  }

  #readWhole(bytesMax: number, received: ((bytes: number) => void) | undefined): Promise<Buffer> {
    if (this.#abortReason) return Promise.reject(this.#abortReason);
    if (!this.hasBody) return Promise.resolve(Buffer.alloc(0));
    const refused = this.#refusal(bytesMax);
    if (refused) {
      this.refuseBody();
      return Promise.reject(refused);
    }
    this.sendContinue();
    return this.#collect(bytesMax, received);
  }

  /** Rejects the body by its headers, before any of it is read. */
  #refusal(bytesMax: number): StatusError | undefined {
    const encoding = this.header('content-encoding') ?? '';
    if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
      return new StatusError('UnsupportedMediaType', 'the body of the request must have no content-encoding');
    }
    return Number(this.header('content-length') ?? 0) > bytesMax ? tooLarge(bytesMax) : undefined;
  }

  #collect(bytesMax: number, received: ((bytes: number) => void) | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const fail = (reason: Error): void => {
        chunks.length = 0;
        this.#failBody = undefined;
        this.refuseBody();
        reject(reason);
      };
      this.#failBody = fail;
      this.readBody({
        data: (chunk) => {
          if (!this.#failBody) return;
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > bytesMax) fail(tooLarge(bytesMax));
          else received?.(chunk.length);
        },
        end: () => {
          if (!this.#failBody) return;
          this.#failBody = undefined;
          resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes));
        },
        cut: () => this.#failBody?.(bodyCut()),
      });
    });
  }
}

/** Lets the end of a body, and what is written with it, wait. */
function holdEnd(writer: BodyWriter, before: () => Promise<unknown> | undefined): void {
  const end = writer.end.bind(writer);
  writer.end = (chunk) => {
    const waiting = before();
    if (waiting) waiting.then(() => end(chunk)).catch(() => writer.abort());
    else end(chunk);
  };
}

/** Receives the parts of a request body. Calls after the last one are ignored. */
export interface BodyEvents {
  data(chunk: Buffer): void;
  end(): void;
  /** The client disconnected midway. */
  cut(): void;
  /** True if no part is taken now. The reader then asks for more by `resumed` of its stream. Default: never. */
  isFull?(): boolean;
}

const bodyCut = (): StatusError =>
  new StatusError('BadRequest', 'the body of the request ended before it was complete');

const tooLarge = (bytesMax: number): StatusError =>
  new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${bytesMax}`);

/** Characters that are invalid in a header value (RFC 9110 section 5.5), or that Node cannot write as one byte. */
const invalidHeaderText = /[^\t\x20-\x7e\x80-\xff]/;

/** Adds a header to a flat list of names and values, one line per value. */
function pushHeader(list: string[], name: string, value: string | readonly string[]): void {
  if (typeof value === 'string') list.push(name, value);
  else for (const line of value) list.push(name, line);
}

/** Responses depend on the user and the time: they are not cached unless the response says otherwise. */
const cacheControl = 'no-cache, private';

/** Keeps browsers from interpreting the text of an object as a page. */
const nosniff = ['x-content-type-options', 'nosniff'] as const;

/** Headers added to every response of a listener, alternating names and values. */
export const constantHeaders = (headers: Headers): readonly string[] => {
  const list: string[] = [...nosniff];
  for (const [name, value] of Object.entries(headers)) pushHeader(list, name, value);
  return list;
};

/** Builds the headers of every response, so that each has exactly one cache-control. */
function headerList(
  first: readonly string[],
  headers: Headers,
  { added, always }: { readonly added?: readonly string[] | undefined; readonly always: readonly string[] },
): string[] {
  const list = first.slice();
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) pushHeader(list, name, value);
  }
  if (added) list.push(...added);
  if (!list.includes('cache-control')) list.push('cache-control', cacheControl);
  list.push(...always);
  return list;
}

/** A serialized response without a body, for input that is not a valid request and so has no exchange. */
export const bareResponse = (status: number, phrase: string, always: readonly string[]): string => {
  const headers = headerList([], { connection: 'close', 'content-length': '0' }, { always });
  const lines = [`HTTP/1.1 ${status} ${phrase}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
};

/** Statuses that never have a body or a content-length (RFC 9110 section 8.6). */
export const isBodiless = (status: number): boolean => status === 204 || status === 304;
