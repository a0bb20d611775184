import { Readable } from 'node:stream';
import { BaseExchange, type BodyEvents, type ExchangeOwner, isBodiless } from './base-exchange.ts';
import type { BodyWriter, Headers, Outlet } from './exchange.ts';
import { errorCode } from './h2/frames.ts';
import type { HeaderField } from './h2/header-field.ts';
import type { ServerStream, StreamOwner } from './h2/stream.ts';
import { nullWriter, type WriterEvents } from './response-writer.ts';

/** One stream of an HTTP/2 connection (RFC 9113). */
export class Http2Exchange extends BaseExchange implements StreamOwner {
  readonly protocol = 'HTTP/2.0';
  readonly #stream: ServerStream;
  readonly #fields: readonly HeaderField[];

  constructor(owner: ExchangeOwner, stream: ServerStream, target: string) {
    super(owner, stream.head.method, target);
    this.#stream = stream;
    this.#fields = stream.head.fields;
    stream.owner = this;
  }

  closed(complete: boolean): void {
    this.end(complete);
  }

  protected sentHeader(name: string): string | undefined {
    let joined: string | undefined;
    for (const field of this.#fields) {
      if (field.name !== name) continue;
      if (joined === undefined) joined = field.value;
      else if (onceOnly.has(name)) return joined;
      else joined = `${joined}, ${field.value}`;
    }
    const { authority } = this.#stream.head;
    return joined === undefined && name === 'host' && authority !== '' ? authority : joined;
  }

  protected sentLines(name: string): readonly string[] {
    return this.#fields.filter((field) => field.name === name).map(({ value }) => value);
  }

  protected sentNames(): readonly string[] {
    return [...new Set(this.#fields.map(({ name }) => name))];
  }

  protected hasSentPrefix(prefix: string): boolean {
    for (const { name } of this.#fields) if (name.startsWith(prefix)) return true;
    return false;
  }

  protected send(status: number, headers: Headers, body?: Uint8Array | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const list = this.responseHeaders([], headers);
    if (!isBodiless(status)) list.push('content-length', String(bytes?.length ?? 0));
    const content = this.method === 'HEAD' || isBodiless(status) ? undefined : bytes;
    this.bodyBytes = content?.length ?? 0;
    this.#begin(status, { whole: true }, () => this.#stream.respond({ status, list }, content));
  }

  /**
   * Sends headers. State is set first: the stream may end at once, and listeners must see that there was a response.
   */
  #begin(status: number, { whole }: { readonly whole: boolean }, send: () => void): void {
    this.responded = true;
    this.status = status;
    this.answered = whole;
    try {
      send();
    } catch (error) {
      // Nothing was sent, so another response is possible.
      this.responded = false;
      this.status = 0;
      this.bodyBytes = 0;
      this.answered = false;
      throw error;
    }
  }

  protected begin(status: number, headers: Headers): BodyWriter {
    const list = this.responseHeaders([], headers);
    const stream = this.#stream;
    const end = this.method === 'HEAD';
    this.#begin(status, { whole: end }, () => stream.start({ status, list, end }));
    if (end || stream.isClosed) return nullWriter;
    return new StreamWriter(stream, {
      written: (bytes) => {
        this.bodyBytes += bytes;
      },
      ended: () => {
        this.answered = true;
      },
      abort: () => this.destroy(),
    });
  }

  destroy(): void {
    this.cutOff = true;
    this.#stream.reset(errorCode.internalError);
  }

  protected get buffered(): number {
    return this.#stream.queuedBytes;
  }

  protected get hasBody(): boolean {
    return !this.#stream.bodiless;
  }

  protected sendContinue(): void {
    if (this.header('expect')?.toLowerCase() === '100-continue') this.#stream.inform(100);
  }

  protected readBody(on: BodyEvents): void {
    this.#stream.readBody(on);
  }

  protected streamBody(): Readable {
    return new StreamedBody(this.#stream);
  }

  protected refuseBody(): void {
    this.#stream.dropBody();
  }
}

/** Fields whose first line counts, as in Node's HTTP/1.1; lines of other fields are joined. */
const onceOnly: ReadonlySet<string> = new Set([
  'content-type',
  'from',
  'if-modified-since',
  'if-unmodified-since',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'user-agent',
]);

/** The body of a request. What is not read stays within the window of the stream. */
class StreamedBody extends Readable implements BodyEvents {
  readonly #stream: ServerStream;
  #isOpen = false;
  #full = false;

  constructor(stream: ServerStream) {
    super();
    this.#stream = stream;
  }

  override _read(): void {
    this.#full = false;
    if (this.#isOpen) this.#stream.resumed();
    else {
      this.#isOpen = true;
      this.#stream.readBody(this);
    }
  }

  isFull(): boolean {
    return this.#full;
  }

  data(chunk: Buffer): void {
    if (!this.push(chunk)) this.#full = true;
  }

  end(): void {
    this.push(null);
  }

  cut(): void {
    if (!this.readableEnded) this.destroy(new Error('the body of the request ended before it was complete'));
  }
}

/** The body of a response in parts. */
class StreamWriter implements BodyWriter {
  readonly #stream: ServerStream;
  readonly #on: WriterEvents;

  constructor(stream: ServerStream, on: WriterEvents) {
    this.#stream = stream;
    this.#on = on;
  }

  get outlet(): Outlet {
    return this.#stream.outlet;
  }

  get buffered(): number {
    return this.#stream.queuedBytes;
  }

  write(chunk: Uint8Array | string, sent?: () => void): boolean {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!this.#stream.isClosed) this.#on.written(bytes.length);
    return this.#stream.write(bytes, sent);
  }

  drained(): Promise<void> {
    return this.#stream.drained();
  }

  end(chunk?: Uint8Array | string): void {
    if (chunk !== undefined) this.write(chunk);
    // Before the stream ends: it may close as soon as its last byte is written.
    this.#on.ended();
    this.#stream.end();
  }

  abort(): void {
    this.#on.abort();
  }
}
