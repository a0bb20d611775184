import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Outlet } from '../exchange.ts';
import {
  defaultWindow,
  type ErrorCode,
  frameFlag,
  frameHeadBytes,
  framePayloadMin,
  frameType,
  windowMax,
} from './frames.ts';
import { appendField, noTable } from './hpack/encoder.ts';
import { httpDate } from './http-date.ts';
import { OutputBuffer } from './output-buffer.ts';

/** A stream that has DATA to send. */
export interface DataSource {
  /**
   * Writes one frame of DATA at most, by `Outbound.data`. False when it has no more to send for now, or may not: then it
   * registers itself again.
   */
  sendData(outbound: Outbound): boolean;
}

/** What the socket of a connection is for the side that sends. */
interface ByteSink {
  readonly destroyed: boolean;
  write(bytes: Uint8Array, written: (error?: Error | null) => void): unknown;
}

/**
 * The sending side of a connection. All frames of a turn of the event loop go out as one write, and the next write waits
 * until the system has taken that one. What may not go out yet stays where it is made: DATA in its stream.
 */
export class Outbound implements Outlet {
  readonly #socket: ByteSink;
  readonly #clock: Clock;
  /** Told when a write was taken, so that a session that waits for the client to read can go on. */
  readonly #onWritten: () => void;
  readonly #buffer = new OutputBuffer();
  #sources: DataSource[] = [];
  #writing = false;
  #scheduled = false;
  /** Whoever writes now flushes when it has written all. */
  #held = false;
  #tableRefused = false;
  #closed = false;
  /** What the client takes of all DATA together. Never beyond `windowMax`. */
  window = defaultWindow;
  /** The longest payload that the client takes. */
  payloadMax = framePayloadMin;
  /** Frames of DATA that were sent, for what the client may answer to them. */
  dataFrames = 0;

  constructor(options: { readonly socket: ByteSink; readonly clock: Clock; readonly onWritten: () => void }) {
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.#onWritten = options.onWritten;
  }

  /** Bytes that wait for the socket. */
  get length(): number {
    return this.#buffer.length;
  }

  /** More waits than goes out at once: the client should read before it asks for more. */
  get isFull(): boolean {
    return this.#buffer.length >= limits.outputBytesMax;
  }

  /** Adds a frame whose payload is small, or shared with other connections: it is copied. */
  frame(type: number, flags: number, stream: number, payload: Uint8Array): void {
    this.#head({ type, flags, stream, length: payload.length });
    this.#buffer.append(payload);
  }

  windowUpdate(stream: number, increment: number): void {
    this.#number(frameType.windowUpdate, stream, increment);
  }

  reset(stream: number, code: ErrorCode): void {
    this.#number(frameType.reset, stream, code);
  }

  #number(type: number, stream: number, payload: number): void {
    this.#head({ type, flags: 0, stream, length: 4 });
    const at = this.#buffer.reserve(4);
    this.#buffer.target.writeUInt32BE(payload, at);
  }

  /**
   * Adds the headers of a response: `list` has names and values in turns. Throws a TypeError, and adds nothing, where one of
   * them cannot be a header.
   */
  headers(stream: number, { status, list, end }: ResponseHead): void {
    const buffer = this.#buffer;
    const start = buffer.reserve(frameHeadBytes);
    try {
      this.#appendFields(status, list);
    } catch (error) {
      buffer.truncate(start);
      throw error;
    }
    this.#tableRefused = true;
    const flags = frameFlag.endHeaders | (end ? frameFlag.endStream : 0);
    const length = buffer.length - start - frameHeadBytes;
    if (length > this.payloadMax) this.#splitHeaders(stream, flags, start);
    else writeHead(buffer.target, start, { type: frameType.headers, flags, stream, length });
    this.schedule();
  }

  #appendFields(status: number, list: readonly string[]): void {
    const buffer = this.#buffer;
    if (!this.#tableRefused) buffer.append(noTable);
    appendField(buffer, ':status', String(status));
    let dated = status < 200;
    for (let at = 0; at < list.length; at += 2) {
      const name = list[at] as string;
      if (name === 'date') dated = true;
      appendField(buffer, name, list[at + 1] as string);
    }
    if (!dated) appendField(buffer, 'date', httpDate(this.#clock.now()));
  }

  /** Headers that are too long for one frame go on in others (RFC 9113 section 6.10). */
  #splitHeaders(stream: number, flags: number, start: number): void {
    const block = Buffer.from(this.#buffer.target.subarray(start + frameHeadBytes, this.#buffer.length));
    this.#buffer.truncate(start);
    for (let at = 0; at < block.length; at += this.payloadMax) {
      const part = block.subarray(at, at + this.payloadMax);
      const isLast = at + part.length === block.length;
      const type = at === 0 ? frameType.headers : frameType.continuation;
      const ends = (at === 0 ? flags & frameFlag.endStream : 0) | (isLast ? frameFlag.endHeaders : 0);
      this.frame(type, ends, stream, part);
    }
  }

  /** False where the window becomes larger than can be (RFC 9113 section 6.9.1). */
  widen(increment: number): boolean {
    if (this.window + increment > windowMax) return false;
    this.window += increment;
    if (this.#sources.length > 0) this.schedule();
    return true;
  }

  /** Adds the head of a frame of DATA. Its bytes follow by `dataBytes`; windows are counted here for the connection only. */
  dataHead(stream: number, length: number, end: boolean): void {
    this.window -= length;
    this.dataFrames += 1;
    this.#head({ type: frameType.data, flags: end ? frameFlag.endStream : 0, stream, length });
  }

  dataBytes(bytes: Uint8Array): void {
    this.#buffer.append(bytes);
  }

  /** A whole body may go out at once, before any other stream's. */
  takesAtOnce(bytes: number): boolean {
    return bytes <= this.payloadMax && bytes <= this.window && this.#sources.length === 0 && !this.isFull;
  }

  #head(head: FrameHead): void {
    const at = this.#buffer.reserve(frameHeadBytes);
    writeHead(this.#buffer.target, at, head);
    this.schedule();
  }

  /** Has a stream asked for DATA when its turn comes. Once is enough until it says that it has no more. */
  addSource(source: DataSource): void {
    this.#sources.push(source);
    this.schedule();
  }

  removeSource(source: DataSource): void {
    const at = this.#sources.indexOf(source);
    if (at >= 0) this.#sources.splice(at, 1);
  }

  /** Has what waits written when whoever runs now is done. */
  schedule(): void {
    if (this.#scheduled || this.#writing || this.#held) return;
    this.#scheduled = true;
    process.nextTick(flush, this);
  }

  hold(): void {
    this.#held = true;
  }

  flush(): void {
    this.#held = false;
    this.#scheduled = false;
    if (this.#writing || this.#closed) return;
    this.#gather();
    this.#write();
  }

  #write(): void {
    if (this.#buffer.length === 0) return;
    const { bytes, free } = this.#buffer.take();
    this.#writing = true;
    this.#socket.write(bytes, (error) => {
      this.#writing = false;
      // Parts of a write that failed may still be looked at.
      if (!error) free();
      if (error || this.#closed) {
        this.#closed = true;
        return;
      }
      this.#goOn();
      this.#onWritten();
    });
  }

  /**
   * Callbacks of writes that the system took at once follow each other without a turn of the event loop between them: a
   * client that reads fast would have it for itself.
   */
  #goOn(): void {
    if (this.#scheduled || (this.#buffer.length === 0 && this.#sources.length === 0)) return;
    this.#scheduled = true;
    setImmediate(flush, this);
  }

  /** Takes DATA of the streams in turn, a frame at a time. */
  #gather(): void {
    while (this.#sources.length > 0 && !this.isFull && this.window > 0) {
      const source = this.#sources.shift() as DataSource;
      if (source.sendData(this)) this.#sources.push(source);
    }
  }

  /** What was added still goes out, if the socket takes it. DATA that waits in streams does not, nor anything else. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#sources = [];
    if (!this.#socket.destroyed) this.#write();
  }
}

const flush = (outbound: Outbound): void => outbound.flush();

export interface ResponseHead {
  readonly status: number;
  readonly list: readonly string[];
  /** Nothing follows. */
  readonly end: boolean;
}

interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly length: number;
}

/** RFC 9113 section 4.1. */
function writeHead(target: Uint8Array, at: number, { type, flags, stream, length }: FrameHead): void {
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  target[at + 5] = stream >>> 24;
  target[at + 6] = stream >>> 16;
  target[at + 7] = stream >>> 8;
  target[at + 8] = stream;
}
