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
  /** Whether more than `outputBytesSmall` may be written at once. Asked from half of that on, as more may follow. Default: always. */
  readonly mayWriteLarge?: () => boolean;
}

/** What waits for its turn to be written. */
interface Waiting {
  readonly bytes: Uint8Array;
  readonly sent: (() => void) | undefined;
}

/**
 * A response body in parts over a Node stream. On a connection that may write little at once, what is more waits here, as
 * the stream would have a copy of all of it, and the socket an encrypted one.
 */
export class ResponseWriter implements BodyWriter {
  readonly #stream: ResponseStream;
  readonly #on: WriterEvents;
  #drained: PromiseWithResolvers<void> | undefined;
  #listens = false;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Bytes already written of the first that waits. */
  #waitingAt = 0;
  /** Writes under way that others wait for. */
  #underWay = 0;
  /** The end waits too. */
  #ending = false;

  constructor(stream: ResponseStream, on: WriterEvents) {
    this.#stream = stream;
    this.#on = on;
  }

  get buffered(): number {
    return this.#stream.writableLength + this.#waitingBytes;
  }

  /** Enough is written: more should wait for `drained`. */
  get isBehind(): boolean {
    return this.#stream.writableNeedDrain || this.#takesTurns;
  }

  get #open(): boolean {
    return !this.#stream.destroyed && !this.#stream.writableEnded && !this.#ending;
  }

  get #takesTurns(): boolean {
    return this.#underWay > 0 || this.#waiting.length > 0;
  }

  /** Whether so many bytes are written little by little. */
  protected mustTakeTurns(bytes: number): boolean {
    if (this.#takesTurns) return true;
    return this.buffered + bytes >= limits.outputBytesSmall / 2 && this.#on.mayWriteLarge?.() === false;
  }

  write(chunk: Uint8Array | string, sent?: () => void): boolean {
    if (!this.#open) return true;
    const length = lengthOf(chunk);
    this.#on.written(length);
    if (!this.mustTakeTurns(length)) return this.#stream.write(chunk, sent && ((error) => this.#taken(error, sent)));
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const isFirst = !this.#takesTurns;
    this.#waiting.push({ bytes, sent });
    this.#waitingBytes += length;
    if (isFirst) this.#writeLittle();
    return false;
  }

  /** If the stream ended early, pending frames may still reference the chunk. */
  #taken(error: Error | null | undefined, sent: (() => void) | undefined): void {
    if (!error && !this.#stream.destroyed) sent?.();
  }

  #writeLittle(): void {
    let room: number = limits.outputBytesSmall;
    for (let next = this.#waiting[0]; next && room > 0; next = this.#waiting[0]) {
      const part = next.bytes.subarray(this.#waitingAt, this.#waitingAt + room);
      room -= part.length;
      this.#waitingBytes -= part.length;
      this.#waitingAt += part.length;
      const isLast = this.#waitingAt === next.bytes.length;
      this.#writePart(part, isLast ? next.sent : undefined);
      if (!isLast) return;
      this.#waiting.shift();
      this.#waitingAt = 0;
    }
  }

  #writePart(part: Uint8Array, sent: (() => void) | undefined): void {
    this.#underWay += 1;
    this.#stream.write(part, (error) => {
      this.#underWay -= 1;
      this.#taken(error, sent);
      if (this.#underWay > 0) return;
      // Others have their turn, also if the system takes everything at once.
      if (this.#waiting.length > 0) setImmediate(() => this.#goOn());
      else this.#allTaken();
    });
  }

  #goOn(): void {
    if (!this.#stream.destroyed) this.#writeLittle();
  }

  #allTaken(): void {
    this.#tellDrained();
    if (this.#ending) this.#stream.end();
  }

  /** Writes a part of the body together with its framing. */
  protected writeFramed(framed: Uint8Array, bodyBytes: number): boolean {
    if (!this.#open) return true;
    this.#on.written(bodyBytes);
    return this.#stream.write(framed);
  }

  drained(): Promise<void> {
    if (!this.#open || !this.isBehind) return Promise.resolve();
    this.#listen();
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#stream.on('drain', () => {
      if (!this.#takesTurns) this.#tellDrained();
    });
    this.#stream.on('close', () => this.#tellDrained());
  }

  #tellDrained(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.resolve();
  }

  end(chunk?: Uint8Array | string): void {
    if (!this.#open) return;
    const waits = chunk !== undefined && this.mustTakeTurns(lengthOf(chunk));
    if (waits) this.write(chunk);
    if (this.#takesTurns) this.#ending = true;
    else {
      if (chunk !== undefined) this.#on.written(lengthOf(chunk));
      this.#stream.end(chunk);
    }
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
