import { Readable } from 'node:stream';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { clientGone } from '../http/base-exchange.ts';
import type { BodyWriter, Ending, Exchange, Headers, Peer } from '../http/exchange.ts';
import { StatusError } from '../meta/status-error.ts';
import type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';

/**
 * Loopback transport: requests pass through the server's whole pipeline without a network connection. `identify` is called with
 * each exchange before it is handled and sets the identity of the client. Of many requests that are sent at once, as by a controller
 * that wants hundreds of pods, those that would make a turn of the event loop long begin in later ones.
 */
export function inProcessTransport(
  handle: (exchange: Exchange) => void,
  identify: (exchange: Exchange) => void,
  clock: Pick<Clock, 'monotonic'>,
): Transport {
  const begin = (request: ClientRequest): Promise<ClientResponse> => {
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const exchange = new InProcessExchange(request, resolve, reject);
    identify(exchange);
    handle(exchange);
    return promise;
  };
  const transport: Transport = {
    send(request) {
      const slice = new TimeSlice(clock, { owner: transport });
      return slice.over ? slice.next().then(() => begin(request)) : begin(request);
    },
  };
  return transport;
}

const nowhere: Peer = { address: '', port: 0, certificate: undefined, certificateError: undefined };

class InProcessExchange implements Exchange {
  readonly protocol = 'HTTP/1.1';
  readonly method: string;
  readonly target: string;
  readonly peer = nowhere;
  readonly #request: ClientRequest;
  #headers: NonNullable<ClientRequest['headers']>;
  readonly #controller = new AbortController();
  readonly #resolve: (response: ClientResponse) => void;
  readonly #endCallbacks: (() => void)[] = [];
  #responded = false;
  status = 0;
  bodyBytes = 0;
  ending: Ending | undefined = undefined;

  constructor(request: ClientRequest, resolve: (response: ClientResponse) => void, reject: (error: unknown) => void) {
    this.#request = request;
    this.#headers = request.headers ?? {};
    this.method = request.method;
    this.target = request.target;
    this.#resolve = resolve;
    const { signal } = request;
    if (!signal) return;
    const abort = (): void => {
      this.#controller.abort(clientGone);
      reject(signal.reason);
      this.#end('clientGone');
    };
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      this.onEnd(() => signal.removeEventListener('abort', abort));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get responded(): boolean {
    return this.#responded;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Nothing is buffered outside the channel. */
  get unsent(): number {
    return 0;
  }

  destroy(): void {
    this.#abandon('cutOff');
  }

  header(name: string): string | undefined {
    return this.#headers[name];
  }

  headerLines(name: string): readonly string[] {
    const value = this.header(name);
    return value === undefined ? [] : [value];
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

  async body(bytesMax: number): Promise<Buffer> {
    const bytes = Buffer.from(this.#request.body ?? '');
    if (bytes.length > bytesMax)
      throw new StatusError('RequestEntityTooLarge', `the body is larger than ${bytesMax} bytes`);
    return bytes;
  }

  bodyStream(): Readable | undefined {
    const { body } = this.#request;
    return body === undefined ? undefined : Readable.from([Buffer.from(body)]);
  }

  setHeader(): void {
    // In-process clients do not read response headers.
  }

  warn(): void {
    // In-process clients do not read warnings.
  }

  respond(status: number, _headers: Headers, body?: Uint8Array | string): void {
    this.stream(status).end(body);
  }

  stream(status: number): BodyWriter {
    this.#responded = true;
    this.status = status;
    const channel = new Channel(this.#controller.signal, {
      written: (bytes) => {
        this.bodyBytes += bytes;
      },
      ended: (state) => this.#end(state === 'ended' ? 'complete' : 'cutOff'),
    });
    this.#resolve({ status, body: channel.read(() => this.#abandon('clientGone')) });
    return channel;
  }

  onEnd(callback: () => void): void {
    if (this.ending) callback();
    else this.#endCallbacks.push(callback);
  }

  #abandon(ending: Ending): void {
    this.#controller.abort(clientGone);
    this.#end(ending);
  }

  #end(ending: Ending): void {
    if (this.ending) return;
    this.ending = ending;
    for (const callback of this.#endCallbacks) callback();
  }
}

/** Bytes buffered for the reader before the writer must pause. */
const channelBytesMax = 1024 * 1024;

interface ChannelEvents {
  readonly written: (bytes: number) => void;
  readonly ended: (state: 'ended' | 'aborted') => void;
}

/** A bounded pipe between the writer and the reader of a response body. */
class Channel implements BodyWriter {
  readonly #signal: AbortSignal;
  readonly #on: ChannelEvents;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #state: 'open' | 'ended' | 'aborted' = 'open';
  #wake: (() => void)[] = [];

  constructor(signal: AbortSignal, on: ChannelEvents) {
    this.#signal = signal;
    this.#on = on;
    signal.addEventListener('abort', () => this.#change(), { once: true });
  }

  get buffered(): number {
    return this.#bytes;
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#signal.aborted || this.#state !== 'open') return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    this.#on.written(bytes.length);
    this.#change();
    return this.#bytes < channelBytesMax;
  }

  async drained(): Promise<void> {
    while (this.#bytes >= channelBytesMax && !this.#signal.aborted) await this.#changed();
  }

  end(chunk?: Uint8Array | string): void {
    if (chunk !== undefined) this.write(chunk);
    this.#finish('ended');
  }

  abort(): void {
    this.#finish('aborted');
  }

  #finish(state: 'ended' | 'aborted'): void {
    if (this.#state === 'open') this.#state = state;
    this.#change();
    this.#on.ended(state);
  }

  /** The reader's side. `abandoned` is called if it stops before the end. */
  async *read(abandoned: () => void): AsyncIterableIterator<Uint8Array> {
    try {
      for (;;) {
        for (const chunk of this.#take()) yield chunk;
        if (this.#chunks.length > 0) continue;
        if (this.#state === 'aborted') throw new Error('the response was cut off');
        if (this.#state === 'ended') return;
        if (this.#signal.aborted) throw this.#signal.reason;
        await this.#changed();
      }
    } finally {
      if (this.#state === 'open') abandoned();
    }
  }

  #take(): readonly Uint8Array[] {
    const taken = this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    this.#change();
    return taken;
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #change(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
