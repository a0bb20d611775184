import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import type { BodyWriter, Ending, Exchange, Headers, Peer } from '../../http/exchange.ts';
import { Warnings } from '../../http/warning.ts';

/** Test exchange without a connection; records the response. */
export class ExchangeFixture implements Exchange {
  readonly protocol = 'HTTP/2.0';
  peer: Peer = { address: '192.0.2.1', port: 40_000, certificate: undefined, certificateError: undefined };
  readonly method: string;
  readonly target: string;
  #headers: Readonly<Record<string, string | readonly string[]>>;
  readonly #body: Uint8Array | string;
  readonly #controller = new AbortController();
  readonly #ends: (() => void)[] = [];
  #added: Record<string, string | readonly string[]> = {};
  readonly #warnings = new Warnings();
  responded = false;
  status = 0;
  bodyBytes = 0;
  ending: Ending | undefined = undefined;
  headers: Headers = {};
  /** The response body, decompressed. */
  text = '';
  /** The limit that was passed to `body`. */
  bodyBytesMax: number | undefined;

  constructor(
    method: string,
    target: string,
    options: {
      /** An array stands for several header lines. */
      readonly headers?: Readonly<Record<string, string | readonly string[]>>;
      readonly body?: Uint8Array | string;
    } = {},
  ) {
    this.method = method;
    this.target = target;
    this.#headers = options.headers ?? {};
    this.#body = options.body ?? '';
  }

  header(name: string): string | undefined {
    const lines = this.headerLines(name);
    return lines.length === 0 ? undefined : lines.join(', ');
  }

  headerLines(name: string): readonly string[] {
    const value = this.#headers[name] ?? [];
    return typeof value === 'string' ? [value] : value;
  }

  headerNames(): readonly string[] {
    return Object.keys(this.#headers);
  }

  hasHeaderPrefix(prefix: string): boolean {
    return this.headerNames().some((name) => name.startsWith(prefix));
  }

  hideHeaders(isHidden: (name: string) => boolean): void {
    this.#headers = Object.fromEntries(Object.entries(this.#headers).filter(([name]) => !isHidden(name)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  async body(bytesMax: number, received?: (bytes: number) => void): Promise<Buffer> {
    this.bodyBytesMax = bytesMax;
    const bytes = Buffer.from(this.#body as string);
    received?.(bytes.length);
    return bytes;
  }

  bodyStream(): Readable | undefined {
    return this.#body.length === 0 ? undefined : Readable.from([Buffer.from(this.#body as string)]);
  }

  setHeader(name: string, value: string | readonly string[]): void {
    this.#added = { ...this.#added, [name]: value };
  }

  warn(text: string): void {
    this.#warnings.add(text);
  }

  respond(status: number, headers: Headers, body: Uint8Array | string = ''): void {
    if (this.responded) throw new Error('a second response');
    this.responded = true;
    this.status = status;
    const warnings = this.#warnings.headers();
    this.headers = { ...headers, ...this.#added, ...(warnings.length > 0 && { warning: warnings }) };
    const bytes = Buffer.from(body as string);
    this.bodyBytes = bytes.length;
    this.text = (this.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
  }

  stream(): BodyWriter {
    throw new Error('nothing is streamed here');
  }

  /** Bytes of the response that the client has not read. */
  unsent = 0;
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.end('cutOff');
  }

  onEnd(callback: () => void): void {
    this.#ends.push(callback);
  }

  /** Ends the exchange: the response was sent, or the client is gone. */
  end(ending: Ending = 'complete'): void {
    this.ending ??= ending;
    for (const callback of this.#ends.splice(0)) callback();
  }
}
