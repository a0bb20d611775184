import { limits } from '../base/limits.ts';
import type { BodyWriter } from './exchange.ts';

/** Common interface of Node's HTTP/1.1 responses and its compressors. */
interface ResponseStream {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  write(chunk: Uint8Array | string, done?: (error?: Error | null) => void): boolean;
  end(chunk?: Uint8Array | string): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Callbacks from a body's writer to its exchange. */
export interface WriterEvents {
  /** Bytes of the body were written, their framing not counted. */
  readonly written: (bytes: number) => void;
  /** The last part was written. */
  readonly ended: () => void;
  /** Cuts the response off. */
  readonly abort: () => void;
  /** Whether more than `outputBytesSmall` may be buffered. Asked from half of that on, as more may follow. Default: always. */
  readonly mayWriteLarge?: () => boolean;
}

/** A response body in parts over a Node stream. */
export class ResponseWriter implements BodyWriter {
  readonly #stream: ResponseStream;
  readonly #on: WriterEvents;
  #drained: PromiseWithResolvers<void> | undefined;
  #listens = false;
  /** Writes under way that were enough for a connection that writes little at once. */
  #enough = 0;

  constructor(stream: ResponseStream, on: WriterEvents) {
    this.#stream = stream;
    this.#on = on;
  }

  get buffered(): number {
    return this.#stream.writableLength;
  }

  get #open(): boolean {
    return !this.#stream.destroyed && !this.#stream.writableEnded;
  }

  write(chunk: Uint8Array | string, sent?: () => void): boolean {
    if (!this.#open) return true;
    const bytes = lengthOf(chunk);
    this.#on.written(bytes);
    const isEnough = this.buffered + bytes >= limits.outputBytesSmall / 2 && this.#on.mayWriteLarge?.() === false;
    if (!sent && !isEnough) return this.#stream.write(chunk);
    if (isEnough) this.#enough += 1;
    const takesMore = this.#stream.write(chunk, (error) => {
      if (isEnough) this.#taken();
      // If the stream ended early, pending frames may still reference the chunk.
      if (!error && !this.#stream.destroyed) sent?.();
    });
    return takesMore && !isEnough;
  }

  #taken(): void {
    this.#enough -= 1;
    if (this.#enough === 0) this.#tellDrained();
  }

  /** Writes a part of the body together with its framing. */
  protected writeFramed(framed: Uint8Array, bodyBytes: number): boolean {
    if (!this.#open) return true;
    this.#on.written(bodyBytes);
    return this.#stream.write(framed);
  }

  drained(): Promise<void> {
    const stream = this.#stream;
    if (!this.#open || !(stream.writableNeedDrain || this.#enough > 0)) return Promise.resolve();
    this.#listen();
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#stream.on('drain', this.#tellDrained);
    this.#stream.on('close', this.#tellDrained);
  }

  readonly #tellDrained = (): void => {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.resolve();
  };

  end(chunk?: Uint8Array | string): void {
    if (!this.#open) return;
    if (chunk !== undefined) this.#on.written(lengthOf(chunk));
    this.#stream.end(chunk);
    this.#on.ended();
  }

  abort(): void {
    if (!this.#stream.destroyed) this.#on.abort();
  }
}

const lengthOf = (chunk: Uint8Array | string): number =>
  typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;

/** Discards everything: the body of a response to HEAD, or to a client that is gone. */
export const nullWriter: BodyWriter = {
  buffered: 0,
  write: () => true,
  drained: () => Promise.resolve(),
  end() {},
  abort() {},
};
