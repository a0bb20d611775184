import { StatusError } from '../meta/status-error.ts';
import type { BodyWriter, Ending, Exchange, Headers, Peer } from './exchange.ts';
import { Warnings } from './warning.ts';

/** Why a signal aborted when the client went away before it had the whole response. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the stream before the response was complete');
    this.name = 'ClientGone';
  }
}

/** One for all: making a stack for each of thousands of streams that end with their connections takes long. */
const clientGone = new ClientGone();

/** What an exchange must know of the connection it came on. */
export interface ExchangeOwner {
  readonly peer: Peer;
  /** Headers of every response on it, name and value in turns. */
  readonly headers: readonly string[];
  /** The exchange is over: response sent, or client gone. */
  ended(exchange: BaseExchange): void;
}

/**
 * What HTTP/1.1 and HTTP/2 have in common. Made for every request, so it allocates only what is asked for: no
 * AbortController, no list of callbacks, no map of response headers until somebody wants one.
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
  /** Headers of `setHeader`, name and value in turns; undefined while there are none. */
  #added: string[] | undefined;
  #warnings: Warnings | undefined;
  /** A response was started. */
  responded = false;
  /** The whole response was handed over; only the client's reading is waited for. */
  answered = false;
  status = 0;
  bodyBytes = 0;
  ending: Ending | undefined = undefined;
  /** The server gives up the response; set before the stream or connection ends. */
  protected cutOff = false;
  /** Sweeps of the listener since `answered`; kept here so that they cost the request nothing. */
  sweepsAnswered = 0;
  #hidden: ((name: string) => boolean) | undefined;

  constructor(owner: ExchangeOwner, method: string, target: string) {
    this.#owner = owner;
    this.method = method;
    this.target = target;
  }

  get peer(): Peer {
    return this.#owner.peer;
  }

  /** The flat list of names and values of a response that begins with `first`. */
  protected responseHeaders(first: readonly string[], headers: Headers): string[] {
    return headerList(first, headers, { added: this.added, always: this.#owner.headers });
  }

  header(name: string): string | undefined {
    return this.#hidden?.(name) ? undefined : this.sentHeader(name);
  }

  headerLines(name: string): readonly string[] {
    return this.#hidden?.(name) ? [] : this.sentLines(name);
  }

  headerNames(): readonly string[] {
    const hidden = this.#hidden;
    return hidden ? this.sentNames().filter((name) => !hidden(name)) : this.sentNames();
  }

  hasHeaderBeginning(prefix: string): boolean {
    if (!this.sentBeginning(prefix)) return false;
    return !this.#hidden || this.headerNames().some((name) => name.startsWith(prefix));
  }

  hideHeaders(isHidden: (name: string) => boolean): void {
    const before = this.#hidden;
    this.#hidden = before ? (name) => before(name) || isHidden(name) : isHidden;
  }

  /** As the methods of the interface, of all headers that were sent. */
  protected abstract sentHeader(name: string): string | undefined;
  protected abstract sentLines(name: string): readonly string[];
  protected abstract sentNames(): readonly string[];
  protected abstract sentBeginning(prefix: string): boolean;
  abstract respond(status: number, headers: Headers, body?: Uint8Array | string): void;
  abstract stream(status: number, headers: Headers): BodyWriter;
  abstract destroy(): void;
  /** Bytes of the response that wait in the stream. */
  protected abstract get buffered(): number;
  /** False where the request has ended with its headers. */
  protected abstract get hasBody(): boolean;
  /** Sends `100 Continue` where the client waits for it (RFC 9110 section 10.1.1). */
  protected abstract sendContinue(): void;
  /** Calls back with the parts of the body as they come. */
  protected abstract readBody(on: BodyEvents): void;
  /** Reads no more of the body; what follows the response ends. */
  protected abstract refuseBody(): void;

  get unsent(): number {
    return this.#ended ? 0 : this.buffered;
  }

  /** The work for the request was given up. */
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
    // Refused here, where the mistake is, and not when the response goes out: then it would be too late for an error.
    for (const line of lines)
      if (invalidHeaderText.test(line)) throw new TypeError(`header ${name} has an invalid value`);
    this.#added ??= [];
    pushHeader(this.#added, name, lines);
  }

  warn(text: string): void {
    this.#warnings ??= new Warnings();
    this.#warnings.add(text);
  }

  /** What stages have added to the headers of the response, name and value in turns; asked for once, when it starts. */
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

  /** The connection is no more. Node does not say so of every request that was still under way on it. */
  connectionClosed(): void {
    this.end(false);
  }

  /** To be called once, when nothing more can be sent or received. */
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

  /** What speaks against the body before any of it was read. */
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

/** Where the parts of a request's body go. Calls after the last one are ignored. */
export interface BodyEvents {
  data(chunk: Buffer): void;
  end(): void;
  /** The client went away in the middle. */
  cut(): void;
}

const bodyCut = (): StatusError =>
  new StatusError('BadRequest', 'the body of the request ended before it was complete');

const tooLarge = (bytesMax: number): StatusError =>
  new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${bytesMax}`);

/** What no header line can hold (RFC 9110 section 5.5), and what Node cannot write as one byte. */
const invalidHeaderText = /[^\t\x20-\x7e\x80-\xff]/;

/** Adds a header to a flat list of names and values, one line for each value. */
function pushHeader(list: string[], name: string, value: string | readonly string[]): void {
  if (typeof value === 'string') list.push(name, value);
  else for (const line of value) list.push(name, line);
}

/** Answers of the API are for whoever asked, now: no cache keeps them, unless the answer says otherwise. */
const cacheControl = 'no-cache, private';

/** That the type of an answer is what it says: a browser must not take an object's text for a page. */
const nosniff = ['x-content-type-options', 'nosniff'] as const;

/** What every response of a listener has beside its own headers, name and value in turns. */
export const constantHeaders = (headers: Headers): readonly string[] => {
  const list: string[] = [...nosniff];
  for (const [name, value] of Object.entries(headers)) pushHeader(list, name, value);
  return list;
};

/** Every answer is made here, whatever it is: each says once how it may be cached. */
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

/** A response without a body, by hand: for bytes that are no request, where there is no exchange. */
export const bareResponse = (status: number, phrase: string, always: readonly string[]): string => {
  const headers = headerList([], { connection: 'close', 'content-length': '0' }, { always });
  const lines = [`HTTP/1.1 ${status} ${phrase}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
};

/** Statuses that never have a body, nor a length of one (RFC 9110 section 8.6). */
export const isBodiless = (status: number): boolean => status === 204 || status === 304;
