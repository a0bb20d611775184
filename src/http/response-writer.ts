import type { BodyWriter } from './exchange.ts';

/** What Node's HTTP/1.1 responses and HTTP/2 streams have in common. */
export interface ResponseStream {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  write(chunk: Uint8Array | string, done?: (error?: Error | null) => void): boolean;
  end(chunk?: Uint8Array | string): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/** A response body in parts over a stream of Node's. */
export class ResponseWriter implements BodyWriter {
  readonly #stream: ResponseStream;
  readonly #on: { readonly ended: () => void; readonly abort: () => void };
  #drained: Promise<void> | undefined;

  /** `ended` is told when the last part was handed over; `abort` cuts the response off. */
  constructor(stream: ResponseStream, on: { readonly ended: () => void; readonly abort: () => void }) {
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
    if (!sent) return this.#stream.write(chunk);
    return this.#stream.write(chunk, (error) => {
      // Of a stream that ended early, frames that point at the chunk may still be on their way.
      if (!error && !this.#stream.destroyed) sent();
    });
  }

  drained(): Promise<void> {
    const stream = this.#stream;
    if (!this.#open || !stream.writableNeedDrain) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      const done = (): void => {
        this.#drained = undefined;
        stream.off('drain', done);
        stream.off('close', done);
        resolve();
      };
      stream.once('drain', done);
      stream.once('close', done);
    });
    return this.#drained;
  }

  end(chunk?: Uint8Array | string): void {
    if (!this.#open) return;
    this.#stream.end(chunk);
    this.#on.ended();
  }

  abort(): void {
    if (!this.#stream.destroyed) this.#on.abort();
  }
}

/** Takes everything and sends nothing: the body of an answer to HEAD, or to a client that is gone. */
export const nowhere: BodyWriter = {
  buffered: 0,
  write: () => true,
  drained: () => Promise.resolve(),
  end() {},
  abort() {},
};
