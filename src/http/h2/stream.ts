import { limits } from '../../base/limits.ts';
import type { BodyEvents } from '../base-exchange.ts';
import { BodyParts } from './body-parts.ts';
import type { DataSource, FrameWriter, ResponseHead } from './frame-writer.ts';
import { type ErrorCode, errorCode, windowMax } from './frames.ts';
import type { RequestHead } from './request-head.ts';

/** Handler of a stream's request. */
export interface StreamOwner {
  /** The stream is closed. `complete` if the whole response was handed to the connection. */
  closed(complete: boolean): void;
}

/** The connection of a stream. */
export interface StreamSession {
  readonly writer: FrameWriter;
  /**
   * The server is done with the stream. State of the client's side: `ended`; `lingers` if it has the whole response
   * but may still send; `reset` if it was told to stop.
   */
  forget(stream: ServerStream, client: 'ended' | 'lingers' | 'reset'): void;
  /** A stream is reset because of a client error. */
  faulted(): void;
}

interface Queued {
  readonly bytes: Uint8Array;
  readonly sent: (() => void) | undefined;
}

/** A stream opened by the client: a request and its response (RFC 9113 section 5). */
export class ServerStream implements DataSource {
  readonly id: number;
  readonly head: RequestHead;
  /** The request ended with its headers. */
  readonly bodiless: boolean;
  readonly #session: StreamSession;
  owner: StreamOwner | undefined;
  /** Body data came in the current read of the connection, which delivers it at its end. */
  isFed = false;
  #closed = false;

  /** Bytes of the body that the client may still send. */
  #receiveWindow = limits.streamWindowBytes;
  /** Bytes received and not yet returned by WINDOW_UPDATE. */
  #uncredited = 0;
  #received = 0;
  #remoteEnded: boolean;
  #body: 'kept' | 'read' | 'dropped' = 'kept';
  #parts: BodyParts | undefined;
  #reader: BodyEvents | undefined;
  #bodyEnded = false;

  #sendWindow: number;
  #queue: Queued[] = [];
  /** Bytes already sent of the first entry in the queue. */
  #queueAt = 0;
  #queuedBytes = 0;
  #ending = false;
  /** Registered with the connection as a source of DATA. */
  #isSource = false;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(
    session: StreamSession,
    stream: { readonly id: number; readonly head: RequestHead; readonly ended: boolean; readonly sendWindow: number },
  ) {
    this.#session = session;
    this.id = stream.id;
    this.head = stream.head;
    this.bodiless = stream.ended;
    this.#remoteEnded = stream.ended;
    this.#sendWindow = stream.sendWindow;
  }

  get outlet(): FrameWriter {
    return this.#session.writer;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  // Response.

  /** Sends interim response headers (RFC 9110 section 15.2). */
  inform(status: number): void {
    if (!this.#closed) this.#session.writer.headers(this.id, { status, list: [], end: false });
  }

  /** Sends a whole response. */
  respond(head: Omit<ResponseHead, 'end'>, body: Uint8Array | undefined): void {
    if (this.#closed) return;
    const { writer } = this.#session;
    const { status, list } = head;
    if (!body || body.length === 0) {
      writer.headers(this.id, { status, list, end: true });
      this.#endLocal();
      return;
    }
    writer.headers(this.id, { status, list, end: false });
    if (this.#goesAtOnce(body)) {
      this.#sendNow(body, true);
      this.#endLocal();
      return;
    }
    this.#ending = true;
    this.#enqueue(body, undefined);
  }

  /** Starts a response whose body follows by `write` and `end`. */
  start(head: ResponseHead): void {
    if (this.#closed) return;
    this.#session.writer.headers(this.id, head);
    if (head.end) this.#endLocal();
  }

  /** Queued bytes of the response. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** False if enough bytes are queued. `sent` is called when the bytes are no longer referenced. */
  write(bytes: Uint8Array, sent: (() => void) | undefined): boolean {
    if (this.#closed || this.#ending) return true;
    if (bytes.length > 0 && !this.#goesAtOnce(bytes)) this.#enqueue(bytes, sent);
    else {
      if (bytes.length > 0) this.#sendNow(bytes, false);
      sent?.();
    }
    return !this.#session.writer.isBehind(this.#queuedBytes);
  }

  end(): void {
    if (this.#closed || this.#ending) return;
    this.#ending = true;
    if (this.#queuedBytes > 0) return;
    this.#session.writer.dataHead(this.id, 0, true);
    this.#endLocal();
  }

  /** Resolves when the queue is empty and the system has taken what was sent unless it is little, or the stream is closed. */
  drained(): Promise<void> {
    if (this.#closed || (this.#queuedBytes === 0 && !this.#session.writer.isBehind(0))) return Promise.resolve();
    this.#drained ??= Promise.withResolvers();
    if (this.#queuedBytes === 0) this.#session.writer.tellWhenTaken(this);
    return this.#drained.promise;
  }

  taken(): void {
    if (this.#queuedBytes === 0) this.#tellDrained();
  }

  /** True if nothing is queued, here or in other streams, and all windows are large enough. */
  #goesAtOnce(bytes: Uint8Array): boolean {
    const isFirst = this.#queuedBytes === 0 && bytes.length <= this.#sendWindow;
    return isFirst && this.#session.writer.takesAtOnce(bytes.length);
  }

  #sendNow(bytes: Uint8Array, end: boolean): void {
    const { writer } = this.#session;
    this.#sendWindow -= bytes.length;
    writer.dataHead(this.id, bytes.length, end);
    writer.dataBytes(bytes);
  }

  #enqueue(bytes: Uint8Array, sent: (() => void) | undefined): void {
    this.#queue.push({ bytes, sent });
    this.#queuedBytes += bytes.length;
    this.#offer();
  }

  #offer(): void {
    if (this.#isSource || this.#queuedBytes === 0 || this.#sendWindow <= 0) return;
    this.#isSource = true;
    this.#session.writer.addSource(this);
  }

  sendData(writer: FrameWriter): boolean {
    const length = writer.room(Math.min(this.#queuedBytes, this.#sendWindow, writer.window));
    if (length > 0) {
      const isLast = this.#ending && length === this.#queuedBytes;
      writer.dataHead(this.id, length, isLast);
      this.#sendWindow -= length;
      this.#queuedBytes -= length;
      this.#copyQueued(writer, length);
      if (this.#queuedBytes === 0 && this.#drained) writer.tellWhenTaken(this);
      if (isLast) {
        this.#isSource = false;
        this.#endLocal();
        return false;
      }
    }
    this.#isSource = this.#queuedBytes > 0 && this.#sendWindow > 0;
    return this.#isSource;
  }

  #copyQueued(writer: FrameWriter, length: number): void {
    let missing = length;
    let taken = 0;
    while (missing > 0) {
      const { bytes, sent } = this.#queue[taken] as Queued;
      const part = Math.min(missing, bytes.length - this.#queueAt);
      const isWhole = part === bytes.length;
      writer.dataBytes(isWhole ? bytes : bytes.subarray(this.#queueAt, this.#queueAt + part));
      missing -= part;
      this.#queueAt += part;
      if (this.#queueAt < bytes.length) break;
      this.#queueAt = 0;
      taken += 1;
      sent?.();
    }
    if (taken === this.#queue.length) this.#queue.length = 0;
    else this.#queue.splice(0, taken);
  }

  #tellDrained(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.resolve();
  }

  /** False if the window would exceed its maximum (RFC 9113 section 6.9.1). */
  widen(increment: number): boolean {
    if (this.#sendWindow + increment > windowMax) return false;
    this.#sendWindow += increment;
    this.#offer();
    return true;
  }

  /** The last frame of the response was written. A client that still sends may do so for a while. */
  #endLocal(): void {
    const breaksProtocol = this.head.problem?.kind === 'malformed' && this.#remoteEnded;
    if (breaksProtocol) this.#session.writer.reset(this.id, errorCode.protocolError);
    this.#close(true);
    if (this.head.problem?.kind === 'malformed') this.#session.faulted();
  }

  // Request body.

  /** Part of a DATA frame. `frameBytes` is the flow-controlled length, passed with the first part of the frame. */
  receive(part: Buffer, frameBytes: number): 'taken' | 'flowControlError' | 'lengthError' {
    if (frameBytes > this.#receiveWindow) return 'flowControlError';
    this.#receiveWindow -= frameBytes;
    this.#received += part.length;
    if (this.#received > (this.head.contentLength ?? Number.POSITIVE_INFINITY)) return 'lengthError';
    if (this.#body === 'dropped') return 'taken';
    this.#uncredited += frameBytes;
    this.#parts ??= new BodyParts();
    this.#parts.add(part);
    return 'taken';
  }

  /** The client ended its side. False if the length differs from Content-Length (RFC 9113 section 8.1.1). */
  receiveEnd(): boolean {
    if (this.head.contentLength !== undefined && this.#received !== this.head.contentLength) return false;
    this.#remoteEnded = true;
    this.resumed();
    return true;
  }

  /** Delivers the received parts and replenishes the window. Called once per read. */
  deliver(): void {
    if (this.#body !== 'read' || !this.#parts || this.#reader?.isFull?.()) return;
    for (const part of this.#parts.take()) this.#reader?.data(part);
    if (this.#remoteEnded || this.#closed || this.#uncredited < limits.streamWindowBytes / 2) return;
    this.#receiveWindow += this.#uncredited;
    this.#session.writer.windowUpdate(this.id, this.#uncredited);
    this.#uncredited = 0;
  }

  readBody(on: BodyEvents): void {
    this.#body = 'read';
    this.#reader = on;
    if (this.#closed) {
      on.cut();
      return;
    }
    this.resumed();
  }

  /** A reader that was full takes parts again. */
  resumed(): void {
    this.deliver();
    if (this.#body === 'read' && this.#remoteEnded && this.#parts?.isEmpty !== false) this.#endBody();
  }

  #endBody(): void {
    const reader = this.#reader;
    if (!reader || this.#bodyEnded) return;
    this.#bodyEnded = true;
    reader.end();
  }

  /** Drops the rest of the body. The client can send no more than the window allows. */
  dropBody(): void {
    this.#body = 'dropped';
    this.#parts = undefined;
  }

  // End.

  /** Resets the stream, so that the client sees that the response was truncated. */
  reset(code: ErrorCode): void {
    if (this.#closed) return;
    this.#session.writer.reset(this.id, code);
    this.#close(false);
  }

  /** The client reset the stream, or the connection closed. */
  cut(): void {
    this.#remoteEnded = true;
    if (!this.#closed) this.#close(false);
  }

  #close(complete: boolean): void {
    this.#closed = true;
    if (this.#isSource || this.#drained) this.#session.writer.removeSource(this);
    this.#isSource = false;
    // `sent` callbacks of unsent chunks are never called, as documented at `BodyWriter.write`.
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#parts = undefined;
    this.#tellDrained();
    this.#session.forget(this, this.#remoteEnded ? 'ended' : complete ? 'lingers' : 'reset');
    const reader = this.#reader;
    this.#reader = undefined;
    if (!this.#bodyEnded) reader?.cut();
    this.owner?.closed(complete);
  }
}
