import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import { BaseExchange, type BodyEvents, type ExchangeOwner, isBodiless } from './base-exchange.ts';
import { discardBody } from './discard-body.ts';
import type { BodyWriter, Headers, Outlet } from './exchange.ts';
import { nullWriter, ResponseWriter, type WriterEvents } from './response-writer.ts';
import type { SharedChunk } from './shared-chunk.ts';

/** One request of an HTTP/1.1 connection (RFC 9112). */
export class Http1Exchange extends BaseExchange {
  readonly protocol = 'HTTP/1.1';
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** True if this must be the last response of the connection. */
  readonly #closing: () => boolean;
  readonly #clock: Clock;
  #refused = false;
  #writer: BodyWriter | undefined;
  /** Somebody reads the body for as long as there is an answer. */
  #streams = false;

  constructor(
    owner: ExchangeOwner,
    exchange: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly method: string;
      readonly target: string;
      readonly closing: () => boolean;
      readonly clock: Clock;
    },
  ) {
    super(owner, exchange.method, exchange.target);
    this.#request = exchange.request;
    this.#response = exchange.response;
    this.#closing = exchange.closing;
    this.#clock = exchange.clock;
    const { request, response } = exchange;
    // 'close' of the response follows every error and is handled.
    request.on('error', ignore);
    response.on('error', ignore);
    response.on('close', () => this.end(this.isSent));
  }

  /** Whether the client was sent the whole response; called when the response is closed. */
  protected get isSent(): boolean {
    return this.answered && this.#response.writableFinished;
  }

  protected sentHeader(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  protected sentLines(name: string): readonly string[] {
    return this.#request.headersDistinct[name] ?? [];
  }

  protected sentNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  protected hasSentPrefix(prefix: string): boolean {
    for (const name in this.#request.headers) if (name.startsWith(prefix)) return true;
    return false;
  }

  protected send(status: number, headers: Headers, body?: Uint8Array | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const list = this.#headerList(headers);
    if (!isBodiless(status)) list.push('content-length', String(bytes?.length ?? 0));
    const response = this.#response;
    const gone = response.destroyed;
    if (!gone) response.writeHead(status, list);
    this.responded = true;
    this.status = status;
    this.answered = true;
    if (this.method !== 'HEAD') this.bodyBytes = bytes?.length ?? 0;
    if (gone) return;
    if (this.#last) {
      this.#linger(bytes);
      return;
    }
    if (bytes && bytes.length > limits.outputBytesSmall && this.method !== 'HEAD') {
      // The writer counts them.
      this.bodyBytes = 0;
      this.#writeTo(response).end(bytes);
    } else response.end(bytes);
    if (this.#refused) discardBody(this.#request, () => this.destroy());
  }

  protected begin(status: number, headers: Headers): BodyWriter {
    const response = this.#response;
    const gone = response.destroyed;
    if (!gone) response.writeHead(status, this.#headerList(headers));
    this.responded = true;
    this.status = status;
    if (gone) return nullWriter;
    if (this.hasBody && !this.#streams && !this.#request.complete) discardBody(this.#request, () => this.destroy());
    if (this.method !== 'HEAD') {
      // `flushHeaders` would write a warning that is UTF-8 as if it were Latin-1.
      response.write(noBytes);
      return this.#writeTo(response);
    }
    response.end();
    this.answered = true;
    return nullWriter;
  }

  #writeTo(response: ServerResponse): BodyWriter {
    this.#writer = new Http1Writer(response, {
      written: this.countWritten,
      ended: () => {
        this.answered = true;
      },
      abort: () => this.destroy(),
      mayWriteLarge: () => this.mayWriteLarge(),
    });
    return this.#writer;
  }

  #headerList(headers: Headers): string[] {
    return this.responseHeaders(this.#last || this.#closing() ? ['connection', 'close'] : [], headers);
  }

  /** True if the rest of the body is not worth reading to keep the connection, or the request was aborted. */
  get #last(): boolean {
    const request = this.#request;
    if (!this.hasBody || request.complete) return false;
    return this.aborted || !(Number(request.headers['content-length'] ?? Number.NaN) <= limits.lingerBytesMax);
  }

  protected readonly countWritten = (bytes: number): void => {
    this.bodyBytes += bytes;
  };

  destroy(): void {
    this.cutOff = true;
    this.#response.destroy();
  }

  protected get buffered(): number {
    return this.#writer?.buffered ?? this.#response.writableLength;
  }

  protected get hasBody(): boolean {
    const { headers } = this.#request;
    return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  }

  protected sendContinue(): void {
    if (this.header('expect')?.toLowerCase() === '100-continue') this.#response.writeContinue();
  }

  protected readBody(on: BodyEvents): void {
    const request = this.#request;
    request.on('data', on.data);
    request.once('end', on.end);
    request.once('close', on.cut);
  }

  protected streamBody(): Readable {
    this.#streams = true;
    return this.#request;
  }

  protected refuseBody(): void {
    this.#refused = true;
    this.#request.pause();
  }

  /**
   * Closing a connection with unread bytes makes the system send a reset, which may overtake the response. So the
   * whole response is sent first, and then a limited amount of the remaining input is read and dropped.
   */
  #linger(bytes: Uint8Array | undefined): void {
    const [request, response] = [this.#request, this.#response];
    if (bytes && this.method !== 'HEAD') response.write(bytes);
    else response.flushHeaders();
    const finish = (): void => {
      timer.close();
      response.end();
    };
    const timer = this.#clock.after(limits.lingerMs, finish);
    discardBody(request, finish);
    request.once('end', finish);
    request.once('close', finish);
  }
}

/** The body of a response in parts. */
class Http1Writer extends ResponseWriter implements Outlet {
  readonly #response: ServerResponse;
  /** Set while corked; absent if the response is not the one that the connection currently sends. */
  #socket: Socket | undefined;

  constructor(response: ServerResponse, on: WriterEvents) {
    super(response, on);
    this.#response = response;
  }

  /** A connection sends one response at a time. */
  get outlet(): Outlet {
    return this;
  }

  hold(): void {
    this.#socket = this.#response.socket ?? undefined;
    this.#socket?.cork();
  }

  flush(): void {
    this.#socket?.uncork();
    this.#socket = undefined;
  }

  /** Writes a chunk with its precomputed framing. Node would write four pieces, copied by TLS for each response. */
  writeShared(chunk: SharedChunk): boolean {
    const response = this.#response;
    // An HTTP/1.0 client does not support chunked encoding. Output that Node still buffers must be sent first.
    const isPlain = !response.chunkedEncoding || response.writableCorked > 0;
    if (isPlain || this.mustTakeTurns(chunk.bytes.length)) return this.write(chunk.bytes);
    response.chunkedEncoding = false;
    try {
      return this.writeFramed(chunk.chunked, chunk.bytes.length);
    } finally {
      response.chunkedEncoding = true;
    }
  }
}

const ignore = (): void => {};

const noBytes = new Uint8Array();
