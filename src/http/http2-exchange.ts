import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { BaseExchange, type BodyEvents, type ExchangeOwner, isBodiless } from './base-exchange.ts';
import { discardBody } from './discard-body.ts';
import type { BodyWriter, Headers } from './exchange.ts';
import { nowhere, ResponseWriter } from './response-writer.ts';

/** One stream of an HTTP/2 connection (RFC 9113), without Node's compatibility layer: that costs as much again. */
export class Http2Exchange extends BaseExchange {
  readonly protocol = 'HTTP/2.0';
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  /** Names and values in turns, as they were sent. */
  readonly #lines: readonly string[];
  #bodyOpen = false;

  constructor(
    owner: ExchangeOwner,
    request: {
      readonly stream: ServerHttp2Stream;
      readonly method: string;
      readonly target: string;
      readonly headers: IncomingHttpHeaders;
      readonly lines: readonly string[];
    },
  ) {
    super(owner, request.method, request.target);
    this.#stream = request.stream;
    this.#headers = request.headers;
    this.#lines = request.lines;
    // An error is always followed by 'close', which says all that matters.
    request.stream.on('error', ignore);
    request.stream.on('close', () => this.end(this.answered && isSent(request.stream)));
  }

  protected sentHeader(name: string): string | undefined {
    const value = this.#headers[name] ?? (name === 'host' ? this.#headers[':authority'] : undefined);
    return Array.isArray(value) ? value.join(', ') : value;
  }

  protected sentLines(name: string): readonly string[] {
    const values: string[] = [];
    for (let at = 0; at < this.#lines.length; at += 2) {
      if (this.#lines[at] === name) values.push(this.#lines[at + 1] ?? '');
    }
    return values;
  }

  protected sentNames(): readonly string[] {
    return Object.keys(this.#headers).filter((name) => !name.startsWith(':'));
  }

  protected sentBeginning(prefix: string): boolean {
    for (let at = 0; at < this.#lines.length; at += 2) if (this.#lines[at]?.startsWith(prefix)) return true;
    return false;
  }

  respond(status: number, headers: Headers, body?: Uint8Array | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const list = this.responseHeaders([':status', String(status)], headers);
    if (!isBodiless(status)) list.push('content-length', String(bytes?.length ?? 0));
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) {
      this.responded = true;
      return;
    }
    if (bytes && bytes.length > 0 && this.method !== 'HEAD' && !isBodiless(status)) {
      stream.respond(list);
      stream.end(bytes);
    } else {
      stream.respond(list, { endStream: true });
    }
    this.responded = true;
    this.#finished();
  }

  stream(status: number, headers: Headers): BodyWriter {
    const list = this.responseHeaders([':status', String(status)], headers);
    const stream = this.#stream;
    const gone = stream.destroyed || stream.closed;
    if (!gone) stream.respond(list, { endStream: this.method === 'HEAD' });
    this.responded = true;
    if (gone) return nowhere;
    if (this.method !== 'HEAD') {
      return new ResponseWriter(stream, { ended: () => this.#finished(), abort: () => cut(stream) });
    }
    this.#finished();
    return nowhere;
  }

  /** A body that was begun and not read to its end would leave the stream half open for as long as the client likes. */
  #finished(): void {
    this.answered = true;
    if (!this.#bodyOpen) return;
    if (this.#stream.writableFinished) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    else this.#stream.once('finish', () => this.#stream.close(constants.NGHTTP2_NO_ERROR));
  }

  destroy(): void {
    cut(this.#stream);
  }

  protected get hasBody(): boolean {
    return !this.#stream.endAfterHeaders;
  }

  protected sendContinue(): void {
    if (this.header('expect')?.toLowerCase() !== '100-continue') return;
    const stream = this.#stream;
    if (!stream.destroyed && !stream.closed) stream.additionalHeaders({ ':status': 100 });
  }

  protected readBody(on: BodyEvents): void {
    const stream = this.#stream;
    this.#bodyOpen = true;
    stream.on('data', on.data);
    stream.once('end', () => {
      this.#bodyOpen = false;
      // Node ends the readable side of a stream that was reset as well.
      if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) on.cut();
      else on.end();
    });
    stream.once('close', on.cut);
  }

  protected refuseBody(): void {
    // Of a body that was never asked for, Node takes what the window allows and drops it with the stream.
    if (this.#bodyOpen) discardBody(this.#stream, () => this.destroy());
    this.#bodyOpen = true;
  }
}

/**
 * True of a closed stream whose response the client was sent whole. Where the request had a body Node closes the stream
 * with the last frame, before the writable side has heard that it is finished.
 */
const isSent = (stream: ServerHttp2Stream): boolean =>
  stream.writableFinished || (stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.writableLength === 0);

/** `close` would end the body first, and a response without a length would look complete. */
function cut(stream: ServerHttp2Stream): void {
  stream.destroy(new Error('the response is cut off'));
}

const ignore = (): void => {};
