import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
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
   * Writes at most one DATA frame. Returns false if it has nothing more to send for now, or may not send: it then
   * registers again later.
   */
  sendData(writer: FrameWriter): boolean;
  /** See `tellWhenTaken`. */
  taken(): void;
}

/** A stream that has more, and how many bytes in all the system must have taken before it makes it. */
interface Waiting {
  readonly source: DataSource;
  readonly bytes: number;
}

/** The part of a socket that the sending side uses. */
interface ByteSink {
  readonly destroyed: boolean;
  write(bytes: Uint8Array, written: (error?: Error | null) => void): unknown;
}

/**
 * Sending side of a connection. All frames of one turn of the event loop are sent in one write, and the next write
 * waits until the system has accepted that one. DATA that may not be sent yet stays in its stream.
 */
export class FrameWriter implements Outlet {
  readonly #socket: ByteSink;
  readonly #clock: Clock;
  /** Called when a write was accepted, so that a session waiting for the client to read can continue. */
  readonly #onWritten: () => void;
  readonly #mayWriteLarge: () => boolean;
  readonly #buffer = new OutputBuffer();
  #sources: DataSource[] = [];
  /** Those that wait for less come first. Mostly one at a time: a map would make new memory whenever it becomes empty. */
  readonly #waiting: Waiting[] = [];
  /** All bytes that the system has taken. */
  #taken = 0;
  /** Bytes of the write under way, if one is. */
  #writing: number | undefined;
  #scheduled = false;
  /** Output is deferred until the caller of `hold` flushes. */
  #held = false;
  #tableRefused = false;
  #closed = false;
  /** The client's connection window for DATA. Never more than `windowMax`. */
  window = defaultWindow;
  /** The longest payload that the client accepts. */
  payloadMax = framePayloadMin;
  /** DATA frames sent, which bound the client's WINDOW_UPDATE frames. */
  dataFrames = 0;

  constructor(options: {
    readonly socket: ByteSink;
    readonly clock: Clock;
    readonly onWritten: () => void;
    /** Whether more than `outputBytesSmall` may be written at once. Asked from half of that on, as more may follow. */
    readonly mayWriteLarge: () => boolean;
  }) {
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.#onWritten = options.onWritten;
    this.#mayWriteLarge = options.mayWriteLarge;
  }

  /** Bytes waiting for the socket. */
  get length(): number {
    return this.#buffer.length;
  }

  /** More is buffered than one write takes: the client should read before it requests more. */
  get isFull(): boolean {
    return this.#buffer.length >= limits.outputBytesMax;
  }

  /** Bytes that the system has not taken. */
  get #untaken(): number {
    return (this.#writing ?? 0) + this.#buffer.length;
  }

  /** How many of so many bytes of DATA may be added in one frame now. */
  room(bytes: number): number {
    const wanted = Math.min(bytes, this.payloadMax);
    const small = limits.outputBytesSmall - this.#untaken;
    if (wanted <= small) return wanted;
    if (this.#mayWriteLarge()) return this.#buffer.length < limits.outputBytesMax ? wanted : 0;
    return Math.max(0, small);
  }

  /** Whether a stream of which so many bytes are queued should wait before it makes more of them. */
  isBehind(queued: number): boolean {
    const untaken = this.#untaken + queued;
    if (untaken < limits.outputBytesSmall / 2) return false;
    return untaken >= limits.responseBufferBytes || !this.#mayWriteLarge();
  }

  /** Calls `taken` when the system has taken all that was added until now, whatever others add meanwhile. */
  tellWhenTaken(source: DataSource): void {
    this.#forgetWaiting(source);
    this.#waiting.push({ source, bytes: this.#taken + this.#untaken });
  }

  #forgetWaiting(source: DataSource): void {
    const at = this.#waiting.findIndex((waiting) => waiting.source === source);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** Adds a frame with a small payload, or one shared with other connections: the payload is copied. */
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
   * Adds response headers; `list` alternates names and values. Throws a TypeError, and adds nothing, if one is
   * invalid.
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

  /** Splits a header block that is too long for one frame into CONTINUATION frames (RFC 9113 section 6.10). */
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

  /** False if the window would exceed its maximum (RFC 9113 section 6.9.1). */
  widen(increment: number): boolean {
    if (this.window + increment > windowMax) return false;
    this.window += increment;
    if (this.#sources.length > 0) this.schedule();
    return true;
  }

  /** Adds the head of a DATA frame. Its bytes follow by `dataBytes`; only the connection window is updated here. */
  dataHead(stream: number, length: number, end: boolean): void {
    this.window -= length;
    this.dataFrames += 1;
    this.#head({ type: frameType.data, flags: end ? frameFlag.endStream : 0, stream, length });
  }

  dataBytes(bytes: Uint8Array): void {
    this.#buffer.append(bytes);
  }

  /** Whether a whole body may be sent now, ahead of other streams. */
  takesAtOnce(bytes: number): boolean {
    return bytes <= this.window && this.#sources.length === 0 && this.room(bytes) === bytes;
  }

  #head(head: FrameHead): void {
    const at = this.#buffer.reserve(frameHeadBytes);
    writeHead(this.#buffer.target, at, head);
    this.schedule();
  }

  /** Registers a stream to be called for DATA in its turn. It stays registered until it returns false. */
  addSource(source: DataSource): void {
    this.#sources.push(source);
    this.schedule();
  }

  removeSource(source: DataSource): void {
    this.#forgetWaiting(source);
    const at = this.#sources.indexOf(source);
    if (at >= 0) this.#sources.splice(at, 1);
  }

  /** Schedules a flush for the end of the current operation. */
  schedule(): void {
    if (this.#scheduled || this.#writing !== undefined || this.#held) return;
    this.#scheduled = true;
    process.nextTick(flush, this);
  }

  hold(): void {
    this.#held = true;
  }

  flush(): void {
    this.#held = false;
    this.#scheduled = false;
    if (this.#writing !== undefined || this.#closed) return;
    this.#tellTaken();
    this.#gather();
    this.#write();
  }

  #tellTaken(): void {
    for (let first = this.#waiting[0]; first && first.bytes <= this.#taken; first = this.#waiting[0]) {
      this.#waiting.shift();
      first.source.taken();
    }
  }

  /** How much of what is there may be written now. Headers and control frames come without asking for room. */
  get #writable(): number {
    const { length } = this.#buffer;
    const small = limits.outputBytesSmall + frameHeadBytes;
    return length <= small || this.#closed || this.#mayWriteLarge() ? length : small;
  }

  #write(): void {
    if (this.#buffer.length === 0) return;
    const { bytes, free } = this.#buffer.take(this.#writable);
    this.#writing = bytes.length;
    this.#socket.write(bytes, (error) => {
      this.#writing = undefined;
      this.#taken += bytes.length;
      // Parts of a failed write may still be referenced.
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
   * Callbacks of writes that the system accepts at once follow each other within one turn of the event loop: without
   * `setImmediate`, a client that reads fast would starve the others.
   */
  #goOn(): void {
    if (this.#scheduled || (this.#buffer.length === 0 && this.#sources.length + this.#waiting.length === 0)) return;
    this.#scheduled = true;
    setImmediate(flush, this);
  }

  /** Collects DATA from the streams round-robin, one frame at a time. */
  #gather(): void {
    while (this.#sources.length > 0 && this.window > 0 && this.room(1) > 0) {
      const source = this.#sources.shift() as DataSource;
      if (source.sendData(this)) this.#sources.push(source);
    }
  }

  /** Frames already buffered are still written, if the socket takes them; DATA queued in streams is dropped. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#sources = [];
    if (!this.#socket.destroyed) this.#write();
  }
}

const flush = (writer: FrameWriter): void => writer.flush();

export interface ResponseHead {
  readonly status: number;
  readonly list: readonly string[];
  /** No body follows. */
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
