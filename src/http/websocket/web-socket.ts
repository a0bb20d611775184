import type { TLSSocket } from 'node:tls';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { BodyWriter } from '../exchange.ts';
import { ResponseWriter, type WriterEvents } from '../response-writer.ts';
import { ClientFrameReader, closeCodes, closeFrame, FrameError, frameOf, opcodes } from './frames.ts';

const nothing = Buffer.alloc(0);

/**
 * A WebSocket on which only the server sends messages (RFC 6455). Callers write complete frames: the frame of an
 * event is shared by all watchers. The client may ping and close; other input is dropped, and limited.
 */
export class WebSocket implements BodyWriter {
  readonly #socket: TLSSocket;
  readonly #clock: Clock;
  readonly #writer: ResponseWriter;
  readonly #reader: ClientFrameReader;
  #timer: Closable;
  /** Input arrived since the last ping; true until the first. */
  #heard = true;
  #closing = false;
  /** Input from the client is ignored. */
  #deaf = false;

  /** Takes a socket on which the handshake is complete. */
  constructor(socket: TLSSocket, options: { readonly clock: Clock; readonly on: WriterEvents }) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#writer = new ResponseWriter(socket, options.on);
    this.#reader = new ClientFrameReader({
      ping: (payload) => this.#pong(payload),
      close: (code) => this.#closed(code),
    });
    this.#timer = this.#clock.after(limits.webSocketPingMs, () => this.#ping());
    socket.once('close', () => this.#timer.close());
    socket.on('finish', () => {
      // The client closes in response; if it does not, the socket is destroyed after a while.
      this.#timer.close();
      this.#timer = this.#clock.after(limits.lingerMs, () => socket.destroy());
    });
  }

  /** Takes input from the client. */
  read(chunk: Buffer): void {
    this.#heard = true;
    if (this.#deaf) return;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#closed(error.code);
    }
  }

  get buffered(): number {
    return this.#writer.buffered;
  }

  write(chunk: Uint8Array | string, sent?: () => void): boolean {
    return this.#writer.write(chunk, sent);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  end(chunk?: Uint8Array | string): void {
    if (chunk !== undefined) this.#writer.write(chunk);
    this.#close(closeCodes.normal);
  }

  abort(): void {
    this.#writer.abort();
  }

  #close(code: number): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#writer.end(closeFrame(code));
  }

  /** The client closed, or violated the protocol. */
  #closed(code: number): void {
    this.#deaf = true;
    // Both sides have closed: the server ends the connection (section 7.1.1).
    if (this.#closing) this.#socket.destroySoon();
    else this.#close(code);
  }

  /** If pings arrive faster than the pongs are read, some get none (section 5.5.3). */
  #pong(payload: Buffer): void {
    if (this.#closing || this.#writer.isBehind) return;
    this.#writer.write(frameOf(opcodes.pong, payload));
  }

  /** Checks whether the client is alive; one that has sent nothing since the last ping is not. */
  #ping(): void {
    if (!this.#heard) {
      this.#socket.destroy();
      return;
    }
    // Behind data that the client has not read yet, a ping would arrive no earlier than that data.
    if (this.#writer.buffered === 0) {
      this.#heard = false;
      this.#writer.write(frameOf(opcodes.ping, nothing));
    }
    this.#timer = this.#clock.after(limits.webSocketPingMs, () => this.#ping());
  }
}
