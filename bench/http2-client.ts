import { once } from 'node:events';
import type { OnReadOpts } from 'node:net';
import { connect, type TLSSocket, type ConnectionOptions as TlsConnectionOptions } from 'node:tls';
import { statusOf } from './hpack-status.ts';
import {
  type FrameHead,
  FrameReader,
  frameFlag,
  frameOf,
  frameType,
  settingsFrame,
  windowMax,
  windowUpdate,
} from './http2-frames.ts';
import { within } from './within.ts';

/**
 * A client that costs next to nothing, so that what is measured is the server: it writes HTTP/2 frames (RFC 9113) made
 * beforehand and looks at no more of an answer than where it ends. No dynamic HPACK table for answers, windows opened wide.
 */
export interface ConnectOptions {
  /** Default: this machine. */
  readonly host?: string;
  readonly port: number;
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** A bearer token, for requests that are made with it. */
  readonly token?: string;
}

export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Headers that go into the table of the connection with its first request, and only by their place in it with later ones,
   * as clients do with tokens. The same for all requests of a connection that have any; less than 4 KiB.
   */
  readonly repeated?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** What comes back on one stream. */
export interface StreamListener {
  /** A part of the body. Valid only during the call. */
  data?(chunk: Buffer): void;
  end(response: { readonly status: number; readonly bytes: number }): void;
  failed(why: string): void;
}

interface OpenStream {
  readonly listener: StreamListener;
  status: number;
  bytes: number;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const connectMsMax = 10_000;
const windowRenewAt = 0x3fffffff;
/** Received bytes of all connections pass through one buffer: what is received is looked at and not kept. */
const received = Buffer.allocUnsafeSlow(256 * 1024);

const openingFrames = Buffer.concat([
  preface,
  settingsFrame({
    1: 0, // SETTINGS_HEADER_TABLE_SIZE
    2: 0, // SETTINGS_ENABLE_PUSH
    4: windowMax, // SETTINGS_INITIAL_WINDOW_SIZE
  }),
  windowUpdate(windowMax - 65_535),
]);

export class Http2Client {
  readonly #socket: TLSSocket;
  readonly #streams = new Map<number, OpenStream>();
  #nextStream = 1;
  /** What the server has in its table. */
  #repeated = '';
  #received = 0;
  #out: Buffer[] = [];

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('error', (error) => this.#fail(`connection error: ${error.message}`));
    socket.on('close', () => this.#fail('connection closed'));
  }

  static async connect({ host = '127.0.0.1', port, ca, cert, key }: ConnectOptions): Promise<Http2Client> {
    const reader = new FrameReader({
      data: (frame, part, last) => client.#data(frame, part, last),
      frame: (frame, payload) => client.#frame(frame, payload),
    });
    const onread: OnReadOpts = {
      buffer: received,
      callback(bytes) {
        reader.read(received.subarray(0, bytes));
        return true;
      },
    };
    const options: TlsConnectionOptions & { readonly onread: OnReadOpts } = {
      host,
      port,
      ca,
      ...(cert && key && { cert, key }),
      ALPNProtocols: ['h2'],
      onread,
    };
    const socket = connect(options);
    const client = new Http2Client(socket);
    await within(once(socket, 'secureConnect'), connectMsMax, 'connecting');
    socket.setNoDelay(true);
    socket.write(openingFrames);
    return client;
  }

  /** Opens a stream. Frames of one turn of the event loop go out together. */
  send(request: PreparedRequest, listener: StreamListener): void {
    if (this.#socket.destroyed) {
      listener.failed('connection closed');
      return;
    }
    const id = this.#nextStream;
    this.#nextStream += 2;
    this.#streams.set(id, { listener, status: 0, bytes: 0 });
    this.#write(this.#isFirstOf(request) ? request.firstFrames(id) : request.frames(id));
  }

  /** Whether the server does not have its repeated headers yet. */
  #isFirstOf({ repeated }: PreparedRequest): boolean {
    if (repeated === '' || repeated === this.#repeated) return false;
    if (this.#repeated !== '') throw new Error('a connection repeats one set of headers');
    this.#repeated = repeated;
    return true;
  }

  #write(bytes: Buffer): void {
    if (this.#out.length === 0) setImmediate(() => this.#flush());
    this.#out.push(bytes);
  }

  #flush(): void {
    const out = this.#out;
    this.#out = [];
    if (!this.#socket.destroyed) this.#socket.write(out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out));
  }

  #frame({ type, flags, stream: id }: FrameHead, payload: Buffer): void {
    switch (type) {
      case frameType.headers: {
        const stream = this.#streams.get(id);
        if (stream && stream.status === 0) stream.status = statusOf(payload);
        if (flags & frameFlag.endStream) this.#end(id);
        return;
      }
      case frameType.reset:
        this.#reset(id, payload);
        return;
      case frameType.settings:
      case frameType.ping: {
        const answer = type === frameType.ping ? Buffer.from(payload) : Buffer.alloc(0);
        if (!(flags & frameFlag.ack)) this.#write(frameOf({ type, flags: frameFlag.ack, stream: 0 }, answer));
        return;
      }
      case frameType.goaway:
        this.#fail(`GOAWAY with code ${payload.readUInt32BE(4)}`);
        return;
      default:
        return; // window updates and priorities: our requests are small
    }
  }

  #data({ flags, stream: id }: FrameHead, part: Buffer, last: boolean): void {
    if (flags & frameFlag.padded) throw new Error('padded frames are not expected');
    this.#received += part.length;
    if (this.#received > windowRenewAt) {
      this.#write(windowUpdate(this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.bytes += part.length;
    if (part.length > 0) stream.listener.data?.(part);
    if (last && flags & frameFlag.endStream) this.#end(id);
  }

  #reset(id: number, payload: Buffer): void {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    stream?.listener.failed(`stream reset with code ${payload.readUInt32BE(0)}`);
  }

  #end(id: number): void {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    stream?.listener.end(stream);
  }

  #fail(why: string): void {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const { listener } of streams) listener.failed(why);
  }

  /** Stops reading from the connection, so that the server cannot send any more. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#streams.clear();
    this.#socket.destroy();
  }
}

/** A request as frames that only lack their stream's number. */
export class PreparedRequest {
  /** Tells one set of repeated headers from another; '' where there are none. */
  readonly repeated: string;
  readonly #first: Frames;
  readonly #later: Frames;

  constructor({ method, path, headers = {}, repeated = {}, body }: RequestOptions) {
    const block = Buffer.concat([
      literal(':method', method),
      literal(':scheme', 'https'),
      literal(':path', path),
      literal(':authority', '127.0.0.1'),
      ...Object.entries(headers).map(([name, value]) => literal(name, value)),
    ]);
    const entries = Object.entries(repeated);
    const added = entries.map(([name, value]) => literal(name, value, literalForm.indexed));
    const places = entries.map((_, index) => indexed(firstDynamicIndex + entries.length - 1 - index));
    this.repeated = entries.length === 0 ? '' : JSON.stringify(entries);
    this.#first = framesOf(Buffer.concat([block, ...added]), body);
    this.#later = framesOf(Buffer.concat([block, ...places]), body);
  }

  /** For a connection on which no request with the same repeated headers went before. */
  firstFrames(id: number): Buffer {
    return withId(this.#first, id);
  }

  frames(id: number): Buffer {
    return withId(this.#later, id);
  }
}

interface Frames {
  readonly bytes: Buffer;
  /** Where the stream's number stands. */
  readonly idsAt: readonly number[];
}

function framesOf(block: Buffer, body: Buffer | undefined): Frames {
  const end = body ? 0 : frameFlag.endStream;
  const head = frameOf({ type: frameType.headers, flags: frameFlag.endHeaders | end, stream: 0 }, block);
  if (!body) return { bytes: head, idsAt: [5] };
  const data = frameOf({ type: frameType.data, flags: frameFlag.endStream, stream: 0 }, body);
  return { bytes: Buffer.concat([head, data]), idsAt: [5, head.length + 5] };
}

function withId({ bytes, idsAt }: Frames, id: number): Buffer {
  const frames = Buffer.from(bytes);
  for (const at of idsAt) frames.writeUInt32BE(id, at);
  return frames;
}

/** The first byte of a header that stands in no table (RFC 7541 sections 6.2.1 and 6.2.2). */
const literalForm = { indexed: 0x40, notIndexed: 0 };
/** Of what was added last; what was added before stands after it (RFC 7541 section 2.3.3). */
const firstDynamicIndex = 62;

/** A header in full, without Huffman coding. */
function literal(name: string, value: string, form = literalForm.notIndexed): Buffer {
  return Buffer.concat([Buffer.from([form]), hpackString(name), hpackString(value)]);
}

/** A header by its place in the table (RFC 7541 section 6.1). */
function indexed(index: number): Buffer {
  if (index >= 127) throw new Error('too many repeated headers');
  return Buffer.from([0x80 | index]);
}

/** RFC 7541 section 5.2; lengths are integers with a prefix of 7 bits. */
function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
