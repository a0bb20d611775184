import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { ConnectOptions, StreamListener } from './http2-client.ts';
import { within } from './within.ts';

const connectMsMax = 10_000;
const headEnd = Buffer.from('\r\n\r\n');

/** One kept-alive connection of HTTP/1.1 (RFC 9112), one request at a time; understands bodies with a content-length. */
export class Http1Client {
  readonly #socket: TLSSocket;
  #listener: StreamListener | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #status = 0;
  #bytes = 0;
  /** Bytes of the body that are missing; undefined while the head is read. */
  #missing: number | undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(`connection error: ${error.message}`));
    socket.on('close', () => this.#fail('connection closed'));
  }

  static async connect({ port, ca, cert, key }: ConnectOptions): Promise<Http1Client> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca,
      ...(cert && key && { cert, key }),
      ALPNProtocols: ['http/1.1'],
    });
    await within(once(socket, 'secureConnect'), connectMsMax, 'connecting');
    socket.setNoDelay(true);
    return new Http1Client(socket);
  }

  send(request: Buffer, listener: StreamListener): void {
    if (this.#socket.destroyed) {
      listener.failed('connection closed');
      return;
    }
    this.#listener = listener;
    this.#socket.write(request);
  }

  #read(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#missing === undefined) {
      bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
      const end = bytes.indexOf(headEnd);
      this.#rest = end < 0 ? bytes : Buffer.alloc(0);
      if (end < 0) return;
      const head = bytes.toString('latin1', 0, end);
      this.#status = Number(head.slice(9, 12));
      this.#missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      bytes = bytes.subarray(end + headEnd.length);
    }
    this.#missing -= bytes.length;
    this.#bytes += bytes.length;
    if (bytes.length > 0) this.#listener?.data?.(bytes);
    if (this.#missing === 0) this.#end();
  }

  #end(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#missing = undefined;
    const bytes = this.#bytes;
    this.#bytes = 0;
    listener?.end({ status: this.#status, bytes });
  }

  #fail(why: string): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.failed(why);
  }

  close(): void {
    this.#listener = undefined;
    this.#socket.destroy();
  }
}

/** A request without a body, as it goes over the connection. */
export function http1Request(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`);
}
