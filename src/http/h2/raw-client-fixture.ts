import type { Duplex } from 'node:stream';
import { limits } from '../../base/limits.ts';
import { within } from '../../base/waits-fixture.ts';
import { FrameReader } from './frame-reader.ts';
import { frameFlag, framePayloadMax, frameType, preface, windowMax } from './frames.ts';
import type { HeaderField } from './header-field.ts';
import { HpackDecoder } from './hpack/decoder.ts';
import { rawFrame, rawSettings } from './raw-frames-fixture.ts';

/** What was received on one stream. */
interface RawAnswer {
  /** Of the final response; statuses below 200 are in `informed`. */
  readonly status: number;
  readonly informed: readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The server ended its side. */
  readonly ended: boolean;
  /** The error code of RST_STREAM. */
  readonly reset: number | undefined;
}

interface Mutable {
  status: number;
  informed: number[];
  headers: Record<string, string>;
  parts: Buffer[];
  bytes: number;
  dataFrames: number;
  ended: boolean;
  reset: number | undefined;
}

/** A client that sends arbitrary frames and records what it receives. Acknowledges SETTINGS and PING if `polite`. */
export class RawClient {
  readonly socket: Duplex;
  readonly #reader = new FrameReader(framePayloadMax);
  readonly #decoder = new HpackDecoder(limits.headerTableBytes);
  readonly #streams = new Map<number, Mutable>();
  readonly #waiting = new Set<() => void>();
  /** Identifiers and values of the server's SETTINGS. */
  readonly settings: (readonly [identifier: number, value: number])[] = [];
  settingsAcknowledged = 0;
  readonly goaways: { readonly lastStream: number; readonly code: number }[] = [];
  readonly pings: string[] = [];
  readonly pongs: string[] = [];
  /** WINDOW_UPDATE increments by stream; 0 is the connection. */
  readonly widened = new Map<number, number>();
  closed = false;
  /** Acknowledges SETTINGS and PING. */
  polite = true;

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.on('error', () => {}); // a reset is an answer too
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#end());
  }

  /** Sends the preface and SETTINGS. */
  open(...settings: readonly (readonly [identifier: number, value: number])[]): this {
    return this.send(preface, rawFrame(frameType.settings, 0, 0, rawSettings(...settings)));
  }

  send(...frames: readonly Buffer[]): this {
    this.socket.write(Buffer.concat(frames));
    return this;
  }

  answer(stream: number): RawAnswer {
    const { status, informed, headers, parts, ended, reset } = this.#stream(stream);
    return { status, informed, headers, body: Buffer.concat(parts), ended, reset };
  }

  /** Bytes and frames of DATA received on a stream. */
  received(stream: number): { readonly bytes: number; readonly frames: number } {
    const { bytes, dataFrames } = this.#stream(stream);
    return { bytes, frames: dataFrames };
  }

  /** Resolves when the condition holds; it is checked after each input and at the end of the connection. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.closed) throw new Error('the connection has ended');
      const woken = new Promise<void>((resolve) => this.#waiting.add(resolve));
      await within(woken, `this does not hold: ${condition}`);
    }
  }

  /** The whole response of a stream, its reset, or what was received when the connection ended. */
  async whole(stream: number): Promise<RawAnswer> {
    const state = this.#stream(stream);
    await this.until(() => state.ended || state.reset !== undefined || this.closed);
    return this.answer(stream);
  }

  /** The last GOAWAY, once the connection has ended. */
  async end(): Promise<{ readonly lastStream: number; readonly code: number } | undefined> {
    await this.until(() => this.closed);
    return this.goaways.at(-1);
  }

  /** Waits for the answer to a PING, and so for everything sent before. */
  async pinged(): Promise<void> {
    const payload = String(this.#pingsSent).padStart(8, '0');
    this.#pingsSent += 1;
    this.send(rawFrame(frameType.ping, 0, 0, Buffer.from(payload)));
    await this.until(() => this.pongs.includes(payload));
  }
  #pingsSent = 0;

  #stream(id: number): Mutable {
    let stream = this.#streams.get(id);
    if (!stream) {
      stream = {
        status: 0,
        informed: [],
        headers: {},
        parts: [],
        bytes: 0,
        dataFrames: 0,
        ended: false,
        reset: undefined,
      };
      this.#streams.set(id, stream);
    }
    return stream;
  }

  #read(chunk: Buffer): void {
    this.#reader.push(chunk);
    for (let found = this.#reader.next(); found !== 'nothing'; found = this.#reader.next()) {
      if (found === 'data') this.#onData();
      else this.#onFrame();
    }
    this.#wake();
  }

  #onData(): void {
    const { stream: id, bytes, from, to, last, flags } = this.#reader;
    const stream = this.#stream(id);
    stream.parts.push(Buffer.from(bytes.subarray(from, to)));
    stream.bytes += to - from;
    if (!last) return;
    stream.dataFrames += 1;
    if (flags & frameFlag.endStream) stream.ended = true;
  }

  #onFrame(): void {
    const { type, flags, stream: id, bytes, from, to } = this.#reader;
    const payload = Buffer.from(bytes.subarray(from, to));
    switch (type) {
      case frameType.headers:
      case frameType.continuation:
        this.#onHeaders(id, flags, type, payload);
        break;
      case frameType.reset:
        this.#stream(id).reset = payload.readUInt32BE(0);
        break;
      case frameType.settings:
        this.#onSettings(flags, payload);
        break;
      case frameType.ping:
        (flags & frameFlag.ack ? this.pongs : this.pings).push(payload.toString('latin1'));
        if (!(flags & frameFlag.ack) && this.polite) this.send(rawFrame(frameType.ping, frameFlag.ack, 0, payload));
        break;
      case frameType.goaway:
        this.goaways.push({ lastStream: payload.readUInt32BE(0), code: payload.readUInt32BE(4) });
        break;
      case frameType.windowUpdate:
        this.widened.set(id, (this.widened.get(id) ?? 0) + (payload.readUInt32BE(0) & windowMax));
        break;
      default:
        throw new Error(`a frame of type ${type}`);
    }
  }

  #block: Buffer[] = [];
  #blockFlags = 0;

  #onHeaders(id: number, flags: number, type: number, payload: Buffer): void {
    if (type === frameType.headers) this.#blockFlags = flags;
    this.#block.push(payload);
    if (!(flags & frameFlag.endHeaders)) return;
    const block = Buffer.concat(this.#block);
    this.#block = [];
    const stream = this.#stream(id);
    const headers: Record<string, string> = {};
    this.#decoder.decode(block, ({ name, value }: HeaderField) => {
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    });
    const status = Number(headers[':status']);
    if (status < 200) stream.informed.push(status);
    else Object.assign(stream, { status, headers });
    if (this.#blockFlags & frameFlag.endStream) stream.ended = true;
  }

  #onSettings(flags: number, payload: Buffer): void {
    if (flags & frameFlag.ack) {
      this.settingsAcknowledged += 1;
      return;
    }
    for (let at = 0; at < payload.length; at += 6) {
      this.settings.push([payload.readUInt16BE(at), payload.readUInt32BE(at + 2)]);
    }
    if (this.polite) this.send(rawFrame(frameType.settings, frameFlag.ack, 0));
  }

  #end(): void {
    this.closed = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
