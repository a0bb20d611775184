import type { Duplex } from 'node:stream';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { HeldRead } from '../flood-gate.ts';
import { FinishedStreams } from './finished-streams.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import {
  ConnectionError,
  defaultWindow,
  type ErrorCode,
  errorCode,
  frameFlag,
  frameType,
  preface,
  windowMax,
} from './frames.ts';
import type { HeaderField } from './header-field.ts';
import { HpackDecoder, HpackError } from './hpack/decoder.ts';
import { OpenHeaderBlock } from './open-header-block.ts';
import { ReadPacing } from './read-pacing.ts';
import { type RequestHead, RequestHeadBuilder } from './request-head.ts';
import { ourSettings, type PeerSettings, readSettings } from './settings.ts';
import { ServerStream, type StreamSession } from './stream.ts';
import { StreamTable } from './stream-table.ts';
import { TokenBucket } from './token-bucket.ts';

export type SessionLimits = Readonly<
  Record<'headersMsMax' | 'headerBytesMax' | 'streamsPerConnectionMax' | 'streamResetsPerSecondMax', number>
>;

interface SessionOptions {
  readonly socket: Duplex;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: SessionLimits;
  /** Called for every request. Sets the stream's owner; must not throw. */
  readonly onRequest: (stream: ServerStream) => void;
  /** See ReadPacing. */
  readonly hold: (read: HeldRead) => boolean;
  /** See FrameWriter. */
  readonly mayWriteLarge: () => boolean;
}

/**
 * Server side of an HTTP/2 connection (RFC 9113), on a socket that negotiated `h2`. We do not use Node's
 * implementation because a request with malformed header fields must be refused, never served without them: the
 * fields may identify the user.
 */
export class Http2Session implements StreamSession {
  readonly writer: FrameWriter;
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: SessionLimits;
  readonly #onRequest: SessionOptions['onRequest'];
  readonly #reader = new FrameReader(limits.framePayloadBytesMax);
  readonly #decoder = new HpackDecoder(limits.headerTableBytes);
  readonly #head: RequestHeadBuilder;
  readonly #streams = new StreamTable();
  readonly #finished: FinishedStreams;
  readonly #pacing: ReadPacing;
  readonly #resets: TokenBucket;
  readonly #controlFrames: TokenBucket;
  #prefaceBytes = 0;
  #settingsCame = false;
  /** Sweeps since our SETTINGS were sent; undefined once they are acknowledged. */
  #unacknowledgedSweeps: number | undefined = 0;
  #block: OpenHeaderBlock | undefined;
  /** Stream of the DATA frame being read. */
  #dataStream: ServerStream | undefined;
  #lastStream = 0;
  #initialWindow = defaultWindow;
  /** WINDOW_UPDATE frames that count as responses to our DATA. */
  #windowUpdates = 0;
  /** `left`: only earlier requests are served; `closed`: nothing more is read. */
  #state: 'open' | 'leaving' | 'left' | 'closed' = 'open';
  /** The client sent GOAWAY and opens no more streams. */
  #clientLeft = false;
  #timer: Closable | undefined;
  /** Bytes received after the end. */
  #droppedBytes = 0;
  /** Bytes of DATA not yet returned to the connection window by WINDOW_UPDATE. */
  #uncredited = 0;
  /** Streams that received body data in the current read. */
  readonly #fed: ServerStream[] = [];
  #trailersAreFaulty = false;

  constructor(options: SessionOptions) {
    const { socket, clock, limits: max } = options;
    this.#socket = socket;
    this.#clock = clock;
    this.#logger = options.logger;
    this.#limits = max;
    this.#onRequest = options.onRequest;
    this.#head = new RequestHeadBuilder(max.headerBytesMax);
    this.#resets = new TokenBucket(clock, max.streamResetsPerSecondMax);
    this.#controlFrames = new TokenBucket(clock, limits.controlFramesPerSecondMax);
    const { mayWriteLarge } = options;
    this.writer = new FrameWriter({ socket, clock, onWritten: () => this.#pacing.written(), mayWriteLarge });
    this.#pacing = new ReadPacing({
      ...{ socket, clock, writer: this.writer, hold: options.hold },
      read: () => {
        if (this.#state !== 'closed') this.#read();
      },
    });
    this.#finished = new FinishedStreams({
      clock,
      lingeringMax: max.streamsPerConnectionMax,
      reset: (id) => this.writer.reset(id, errorCode.noError),
    });
    const settings = ourSettings({ streams: max.streamsPerConnectionMax, headerBytes: max.headerBytesMax });
    this.writer.frame(frameType.settings, 0, 0, settings);
    this.writer.windowUpdate(0, limits.connectionWindowBytes - defaultWindow);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#logger.debug('an HTTP/2 connection failed', { error }));
    socket.once('close', () => this.#socketClosed());
  }

  /** Accepts no further requests. Sends GOAWAY twice, so that no request in flight is lost (section 6.8). */
  leave(): void {
    if (this.#state !== 'open') return;
    this.#state = 'leaving';
    this.#goaway(windowMax, errorCode.noError);
    this.writer.frame(frameType.ping, 0, 0, leavePing);
    this.#timer = this.#clock.after(limits.goawayMs, () => this.#leaveNow());
  }

  /** Closes immediately; the client sees that responses in progress are truncated. */
  destroy(): void {
    if (this.#state === 'closed') return;
    for (const stream of this.#streams.values()) stream.reset(errorCode.cancel);
    this.#goaway(this.#lastStream, errorCode.noError);
    this.#end();
  }

  /** The client has sent its SETTINGS. */
  get hasBegun(): boolean {
    return this.#settingsCame;
  }

  /** Called every `sweepMs`. Ends a connection whose SETTINGS acknowledgement or header block is overdue. */
  sweep(sweepMs: number): void {
    // What the client sent in time may wait to be read.
    if (this.#pacing.isHeld) return;
    const { headersMsMax } = this.#limits;
    try {
      if (this.#unacknowledgedSweeps !== undefined) {
        this.#unacknowledgedSweeps += 1;
        if (this.#unacknowledgedSweeps * sweepMs > headersMsMax) {
          throw new ConnectionError(errorCode.settingsTimeout, 'SETTINGS were not acknowledged');
        }
      }
      this.#block?.sweep(sweepMs, headersMsMax);
    } catch (error) {
      this.#fail(this.#connectionError(error));
    }
  }

  forget(stream: ServerStream, client: 'ended' | 'lingers' | 'reset'): void {
    this.#streams.delete(stream.id);
    if (this.#dataStream === stream) this.#dataStream = undefined;
    if (client === 'lingers') this.#finished.linger(stream.id);
    else if (client === 'reset') this.#finished.add(stream.id);
    this.#endWhenDone();
  }

  /** Counts a stream error. Resets are cheap for a client, whoever sends them (CVE-2023-44487, CVE-2025-8671). */
  faulted(): void {
    if (!this.#resets.take()) this.#fail(new ConnectionError(errorCode.enhanceYourCalm, 'too many resets'));
  }

  // Receiving.

  #receive(chunk: Buffer): void {
    if (this.#state === 'closed') {
      this.#drop(chunk);
      return;
    }
    let from = 0;
    if (this.#prefaceBytes < preface.length) {
      from = Math.min(chunk.length, preface.length - this.#prefaceBytes);
      if (preface.compare(chunk, 0, from, this.#prefaceBytes, this.#prefaceBytes + from) !== 0) {
        this.#fail(new ConnectionError(errorCode.protocolError, 'the connection does not begin as HTTP/2'));
        return;
      }
      this.#prefaceBytes += from;
      if (from === chunk.length) return;
    }
    this.#reader.push(from === 0 ? chunk : chunk.subarray(from));
    this.#read();
  }

  /** Reads all buffered input, unless the client should read first or other connections should have their turn. */
  #read(): void {
    if (!this.#pacing.begin()) return;
    try {
      do {
        const found = this.#reader.next();
        if (found === 'nothing') break;
        if (found === 'data') this.#onData();
        else this.#onFrame();
        if (this.#state === 'closed') return;
      } while (this.#pacing.mayGoOn());
      this.#deliver();
    } catch (error) {
      this.#fail(this.#connectionError(error));
      return;
    }
    this.#pacing.end();
  }

  #onFrame(): void {
    const { type, stream } = this.#reader;
    if (this.#block && (type !== frameType.continuation || stream !== this.#block.stream)) throw betweenHeaders();
    if (!this.#settingsCame && type !== frameType.settings) {
      throw new ConnectionError(errorCode.protocolError, 'the first frame is not SETTINGS');
    }
    switch (type) {
      case frameType.headers:
        this.#onHeaders();
        break;
      case frameType.continuation:
        this.#onContinuation();
        break;
      case frameType.windowUpdate:
        this.#onWindowUpdate();
        break;
      case frameType.reset:
        this.#onReset();
        break;
      case frameType.settings:
        this.#onSettings();
        break;
      case frameType.ping:
        this.#onPing();
        break;
      case frameType.goaway:
        this.#onGoaway();
        break;
      case frameType.priority:
        this.#onPriority();
        break;
      case frameType.pushPromise:
        throw new ConnectionError(errorCode.protocolError, 'clients push nothing');
      default:
        // Unknown frame types are ignored (section 5.5).
        this.#spend();
    }
  }

  /** Limits the rate of frames that are cheap for the client (RFC 9113 section 10.5). */
  #spend(): void {
    if (!this.#controlFrames.take()) throw new ConnectionError(errorCode.enhanceYourCalm, 'too many control frames');
  }

  #onHeaders(): void {
    const { stream, flags, bytes, to } = this.#reader;
    let { from } = this.#reader;
    if (stream % 2 === 0) throw new ConnectionError(errorCode.protocolError, 'clients open streams of odd numbers');
    if (flags & frameFlag.priority) {
      if (to - from < 5) throw new ConnectionError(errorCode.frameSizeError, 'HEADERS are cut off');
      this.#checkDependency(stream, bytes, from);
      from += 5;
    }
    const ended = (flags & frameFlag.endStream) !== 0;
    if (flags & frameFlag.endHeaders) {
      this.#onBlock(stream, ended, bytes.subarray(from, to));
      return;
    }
    const { headerBytesMax } = this.#limits;
    this.#block = new OpenHeaderBlock({ stream, ended, part: bytes.subarray(from, to), headerBytesMax });
  }

  #onContinuation(): void {
    const block = this.#block;
    const { bytes, from, to, flags } = this.#reader;
    if (!block) throw new ConnectionError(errorCode.protocolError, 'CONTINUATION follows no HEADERS');
    block.add(bytes.subarray(from, to));
    if (!(flags & frameFlag.endHeaders)) return;
    this.#block = undefined;
    this.#onBlock(block.stream, block.ended, block.join());
  }

  /** A complete header block. Every block must be decoded, even if refused: later ones depend on its table updates. */
  #onBlock(id: number, ended: boolean, block: Buffer): void {
    const stream = this.#streams.get(id);
    if (stream) {
      this.#onTrailers(stream, ended, block);
      return;
    }
    if (id <= this.#lastStream) {
      if (!this.#finished.has(id)) throw new ConnectionError(errorCode.streamClosed, 'HEADERS of a closed stream');
      this.#decoder.decode(block, ignoreField);
      if (ended) this.#finished.ended(id);
      return;
    }
    this.#lastStream = id;
    this.#decoder.decode(block, this.#head.add);
    const head = this.#head.finish(ended);
    const isRefused = this.#state === 'left' || this.#streams.size >= this.#limits.streamsPerConnectionMax;
    if (isRefused) this.#refuse(id, ended);
    else this.#open(id, head, ended);
  }

  #open(id: number, head: RequestHead, ended: boolean): void {
    const stream = new ServerStream(this, { id, head, ended, sendWindow: this.#initialWindow });
    this.#streams.add(stream);
    this.#pacing.requestRead();
    this.#onRequest(stream);
  }

  /** The request was not processed: the client may retry it (section 8.7). */
  #refuse(id: number, ended: boolean): void {
    this.writer.reset(id, errorCode.refusedStream);
    if (!ended) this.#finished.add(id);
    // The client cannot know our limit before it has our SETTINGS.
    if (this.#unacknowledgedSweeps === undefined && this.#state !== 'left') this.faulted();
    else this.#spend();
  }

  /** Trailers have no meaning for the API: they are validated and dropped. */
  #onTrailers(stream: ServerStream, ended: boolean, block: Buffer): void {
    if (stream.remoteEnded) throw new ConnectionError(errorCode.streamClosed, 'HEADERS of a stream that was ended');
    this.#trailersAreFaulty = false;
    this.#decoder.decode(block, this.#onTrailer);
    if (!ended || this.#trailersAreFaulty || !stream.receiveEnd()) this.#fault(stream, errorCode.protocolError);
  }

  readonly #onTrailer = (field: HeaderField): void => {
    if (field.pseudo || field.fault) this.#trailersAreFaulty = true;
  };

  #onData(): void {
    const { first, last, flags, length, bytes, from, to } = this.#reader;
    if (first) this.#beginData();
    const stream = this.#dataStream;
    if (!stream) return;
    const outcome = stream.receive(bytes.subarray(from, to), first ? length : 0);
    if (outcome !== 'taken') {
      this.#fault(stream, outcome === 'lengthError' ? errorCode.protocolError : errorCode.flowControlError);
    } else if (last && flags & frameFlag.endStream) {
      stream.isFed = false;
      if (!stream.receiveEnd()) this.#fault(stream, errorCode.protocolError);
    } else this.#feed(stream);
  }

  #feed(stream: ServerStream): void {
    if (stream.isFed) return;
    stream.isFed = true;
    this.#fed.push(stream);
  }

  /** Passes on what came, except to streams that ended and so have it. */
  #deliver(): void {
    if (this.#fed.length === 0) return;
    for (const stream of this.#fed.splice(0)) {
      if (stream.isFed) stream.deliver();
      stream.isFed = false;
    }
  }

  #beginData(): void {
    const { stream: id, flags, length, last, from, to } = this.#reader;
    if (this.#block) throw betweenHeaders();
    if (!this.#settingsCame || id === 0 || id > this.#lastStream) {
      throw new ConnectionError(errorCode.protocolError, 'DATA belongs to no stream');
    }
    const ended = (flags & frameFlag.endStream) !== 0;
    if (last && from === to && !ended) this.#spend();
    this.#credit(length);
    const stream = this.#streams.get(id);
    this.#dataStream = stream;
    if (stream?.remoteEnded) this.#fault(stream, errorCode.streamClosed);
    if (stream) return;
    if (!this.#finished.has(id)) throw new ConnectionError(errorCode.streamClosed, 'DATA of a closed stream');
    if (ended) this.#finished.ended(id);
  }

  /**
   * Unread input is bounded by the stream windows; the connection window is replenished early for all received bytes.
   */
  #credit(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#uncredited < limits.connectionWindowBytes / 2) return;
    this.writer.windowUpdate(0, this.#uncredited);
    this.#uncredited = 0;
  }

  #onWindowUpdate(): void {
    const { stream: id, bytes, from, length } = this.#reader;
    if (length !== 4) throw wrongSize('WINDOW_UPDATE');
    if (id > this.#lastStream) throw ofIdleStream('WINDOW_UPDATE');
    this.#windowUpdates += 1;
    // Clients answer a DATA frame with one update for the stream and one for the connection.
    if (this.#windowUpdates > windowUpdatesPerData * this.writer.dataFrames) this.#spend();
    const increment = bytes.readUInt32BE(from) & windowMax;
    if (id === 0) {
      if (increment === 0) throw new ConnectionError(errorCode.protocolError, 'WINDOW_UPDATE of nothing');
      if (!this.writer.widen(increment)) throw new ConnectionError(errorCode.flowControlError, 'too large a window');
      return;
    }
    const stream = this.#streams.get(id);
    if (!stream) return;
    if (increment === 0) this.#fault(stream, errorCode.protocolError);
    else if (!stream.widen(increment)) this.#fault(stream, errorCode.flowControlError);
  }

  #onReset(): void {
    const { stream: id, length } = this.#reader;
    if (length !== 4) throw wrongSize('RST_STREAM');
    if (id === 0 || id > this.#lastStream) throw ofIdleStream('RST_STREAM');
    this.#finished.ended(id);
    this.#streams.get(id)?.cut();
    // Also if the response was already complete.
    this.faulted();
  }

  #onSettings(): void {
    const { stream, flags, bytes, from, to, length } = this.#reader;
    if (stream !== 0) throw new ConnectionError(errorCode.protocolError, 'SETTINGS of a stream');
    if (flags & frameFlag.ack) {
      if (length !== 0) throw wrongSize('SETTINGS');
      this.#unacknowledgedSweeps = undefined;
    } else {
      this.#applySettings(readSettings(bytes, from, to));
      this.writer.frame(frameType.settings, frameFlag.ack, 0, noBytes);
    }
    if (this.#settingsCame) this.#spend();
    else if (flags & frameFlag.ack)
      throw new ConnectionError(errorCode.protocolError, 'the first frame is not SETTINGS');
    this.#settingsCame = true;
  }

  #applySettings({ initialWindow, payloadMax }: PeerSettings): void {
    if (payloadMax !== undefined) this.writer.payloadMax = payloadMax;
    if (initialWindow === undefined) return;
    const difference = initialWindow - this.#initialWindow;
    this.#initialWindow = initialWindow;
    for (const stream of this.#streams.values()) {
      if (!stream.widen(difference)) throw new ConnectionError(errorCode.flowControlError, 'too large a window');
    }
  }

  #onPing(): void {
    const { stream, flags, bytes, from, to, length } = this.#reader;
    if (stream !== 0) throw new ConnectionError(errorCode.protocolError, 'PING of a stream');
    if (length !== 8) throw wrongSize('PING');
    this.#spend();
    const payload = bytes.subarray(from, to);
    if (!(flags & frameFlag.ack)) this.writer.frame(frameType.ping, frameFlag.ack, 0, payload);
    else if (this.#state === 'leaving' && payload.equals(leavePing)) this.#leaveNow();
  }

  #onGoaway(): void {
    const { stream, length } = this.#reader;
    if (stream !== 0) throw new ConnectionError(errorCode.protocolError, 'GOAWAY of a stream');
    if (length < 8) throw wrongSize('GOAWAY');
    this.#spend();
    this.#clientLeft = true;
    this.#endWhenDone();
  }

  /** Priorities are ignored (section 5.3.2). */
  #onPriority(): void {
    const { stream, bytes, from, length } = this.#reader;
    if (stream === 0) throw new ConnectionError(errorCode.protocolError, 'PRIORITY of no stream');
    if (length !== 5) throw wrongSize('PRIORITY');
    this.#checkDependency(stream, bytes, from);
    this.#spend();
  }

  #checkDependency(stream: number, bytes: Buffer, at: number): void {
    if ((bytes.readUInt32BE(at) & windowMax) === stream) {
      throw new ConnectionError(errorCode.protocolError, 'a stream depends on itself');
    }
  }

  // Ending streams and the connection.

  #connectionError(error: unknown): ConnectionError {
    if (error instanceof ConnectionError) return error;
    if (error instanceof HpackError) return new ConnectionError(errorCode.compressionError, error.message);
    // An internal error: only this connection ends.
    this.#logger.error('an HTTP/2 connection failed', { error });
    return new ConnectionError(errorCode.internalError, 'internal error');
  }

  /** Resets a stream because of a client error (section 5.4.2). */
  #fault(stream: ServerStream, code: ErrorCode): void {
    stream.reset(code);
    this.faulted();
  }

  #goaway(lastStream: number, code: ErrorCode): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStream, 0);
    payload.writeUInt32BE(code, 4);
    this.writer.frame(frameType.goaway, 0, 0, payload);
  }

  #leaveNow(): void {
    if (this.#state !== 'leaving') return;
    this.#timer?.close();
    this.#state = 'left';
    this.#goaway(this.#lastStream, errorCode.noError);
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#streams.size > 0 || this.#state === 'closed') return;
    if (this.#state === 'left' || this.#clientLeft) this.#end();
  }

  #fail(error: ConnectionError): void {
    if (this.#state === 'closed') return;
    this.#logger.debug('an HTTP/2 connection failed', { error });
    this.#goaway(this.#lastStream, error.code);
    this.#end();
  }

  /**
   * Closes once the client has read everything. Closing with unread input would make the system reset the connection.
   */
  #end(): void {
    this.#close();
    const socket = this.#socket;
    socket.end();
    if (this.#pacing.isPaused) socket.resume();
    this.#timer = this.#clock.after(limits.lingerMs, () => socket.destroy());
  }

  #close(): void {
    this.#timer?.close();
    this.#finished.close();
    this.#state = 'closed';
    this.#block = undefined;
    this.writer.close();
    this.#fed.length = 0;
    if (this.#streams.size > 0) void this.#cutStreams();
  }

  /** In time slices: many connections with very many watches may close together. */
  async #cutStreams(): Promise<void> {
    const slice = new TimeSlice(this.#clock);
    for (const stream of this.#streams.values()) {
      if (slice.over) await slice.next();
      stream.cut();
    }
  }

  #drop(chunk: Buffer): void {
    this.#droppedBytes += chunk.length;
    if (this.#droppedBytes > limits.lingerBytesMax) this.#socket.destroy();
  }

  #socketClosed(): void {
    this.#close();
    this.#timer?.close();
  }
}

const noBytes = Buffer.alloc(0);
const leavePing = Buffer.from('leaving!', 'latin1');
const windowUpdatesPerData = 4;

const ignoreField = (): void => {};

const betweenHeaders = (): ConnectionError =>
  new ConnectionError(errorCode.protocolError, 'another frame stands between the frames of headers');
const wrongSize = (frame: string): ConnectionError =>
  new ConnectionError(errorCode.frameSizeError, `${frame} has the wrong size`);
const ofIdleStream = (frame: string): ConnectionError =>
  new ConnectionError(errorCode.protocolError, `${frame} of a stream that was not opened`);
