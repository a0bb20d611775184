import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { statusOf } from './hpack-status.ts';
import { within } from './within.ts';

/**
 * A client that costs next to nothing, so that what is measured is the server: it writes HTTP/2 frames (RFC 9113) made
 * beforehand and looks at no more of an answer than where it ends. No dynamic HPACK table, windows opened wide.
 */
export interface ConnectOptions {
  readonly port: number;
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
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

const frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
const flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8 } as const;
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const connectMsMax = 10_000;
const windowMax = 0x7fffffff;
const windowRenewAt = 0x3fffffff;

export class Http2Client {
  readonly #socket: TLSSocket;
  readonly #streams = new Map<number, OpenStream>();
  #nextStream = 1;
  #rest = Buffer.alloc(0);
  #received = 0;
  #out: Buffer[] = [];

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(`connection error: ${error.message}`));
    socket.on('close', () => this.#fail('connection closed'));
  }

  static async connect({ port, ca, cert, key }: ConnectOptions): Promise<Http2Client> {
    const socket = connect({ host: '127.0.0.1', port, ca, ...(cert && key && { cert, key }), ALPNProtocols: ['h2'] });
    await within(once(socket, 'secureConnect'), connectMsMax, 'connecting');
    socket.setNoDelay(true);
    const client = new Http2Client(socket);
    const settings = Buffer.alloc(18);
    settings.writeUInt16BE(1, 0); // SETTINGS_HEADER_TABLE_SIZE
    settings.writeUInt32BE(0, 2);
    settings.writeUInt16BE(4, 6); // SETTINGS_INITIAL_WINDOW_SIZE
    settings.writeUInt32BE(windowMax, 8);
    settings.writeUInt16BE(2, 12); // SETTINGS_ENABLE_PUSH
    settings.writeUInt32BE(0, 14);
    socket.write(Buffer.concat([preface, frameOf(frame.settings, 0, 0, settings), windowUpdate(windowMax - 65_535)]));
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
    this.#write(request.frames(id));
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

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at < 9 + length) break;
      const payload = bytes.subarray(at + 9, at + 9 + length);
      this.#frame(bytes[at + 3] as number, bytes[at + 4] as number, bytes.readUInt32BE(at + 5) & windowMax, payload);
      at += 9 + length;
    }
    this.#rest = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case frame.data:
        this.#data(flags, id, payload);
        return;
      case frame.headers: {
        const stream = this.#streams.get(id);
        if (stream && stream.status === 0) stream.status = statusOf(payload);
        if (flags & flag.endStream) this.#end(id);
        return;
      }
      case frame.reset:
        this.#reset(id, payload);
        return;
      case frame.settings:
        if (!(flags & flag.ack)) this.#write(frameOf(frame.settings, flag.ack, 0, Buffer.alloc(0)));
        return;
      case frame.ping:
        if (!(flags & flag.ack)) this.#write(frameOf(frame.ping, flag.ack, 0, Buffer.from(payload)));
        return;
      case frame.goaway:
        this.#fail(`GOAWAY with code ${payload.readUInt32BE(4)}`);
        return;
      default:
        return; // window updates and priorities: our requests are small
    }
  }

  #data(flags: number, id: number, payload: Buffer): void {
    if (flags & flag.padded) throw new Error('padded frames are not expected');
    this.#received += payload.length;
    if (this.#received > windowRenewAt) {
      this.#write(windowUpdate(this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.bytes += payload.length;
    stream.listener.data?.(payload);
    if (flags & flag.endStream) this.#end(id);
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
  readonly #frames: Buffer;
  readonly #idsAt: readonly number[];

  constructor({ method, path, headers = {}, body }: RequestOptions) {
    const block = Buffer.concat([
      literal(':method', method),
      literal(':scheme', 'https'),
      literal(':path', path),
      literal(':authority', '127.0.0.1'),
      ...Object.entries(headers).map(([name, value]) => literal(name, value)),
    ]);
    const end = body ? 0 : flag.endStream;
    const head = frameOf(frame.headers, flag.endHeaders | end, 0, block);
    this.#frames = body ? Buffer.concat([head, frameOf(frame.data, flag.endStream, 0, body)]) : head;
    this.#idsAt = body ? [5, head.length + 5] : [5];
  }

  frames(id: number): Buffer {
    const frames = Buffer.from(this.#frames);
    for (const at of this.#idsAt) frames.writeUInt32BE(id, at);
    return frames;
  }
}

/** A header that is in no table (RFC 7541 section 6.2.2), without Huffman coding. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), hpackString(name), hpackString(value)]);
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

function frameOf(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment, 0);
  return frameOf(frame.windowUpdate, 0, 0, payload);
}
