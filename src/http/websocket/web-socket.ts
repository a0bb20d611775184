import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { BodyWriter } from '../exchange.ts';
import { ResponseWriter, type WriterEvents } from '../response-writer.ts';
import { closeCodes, closeFrame, FrameError, FrameReader, frameOf, opcodes } from './frames.ts';

const nothing = Buffer.alloc(0);

/**
 * A WebSocket that only the server speaks on (RFC 6455). What is written are frames, made by whoever writes: those of an
 * event are the same for all who watch. The client may ping and close; what else it says is dropped, and bounded.
 */
export class WebSocket implements BodyWriter {
  readonly #socket: TLSSocket;
  readonly #clock: Clock;
  readonly #writer: ResponseWriter;
  readonly #reader: FrameReader;
  #timer: Closable;
  /** Something came since the last ping; true until the first. */
  #heard = true;
  #closing = false;
  /** What the client sends is not looked at any more. */
  #deaf = false;

  /** Speaks on a socket on which the handshake is done. */
  constructor(socket: TLSSocket, options: { readonly clock: Clock; readonly on: WriterEvents }) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#writer = new ResponseWriter(socket, options.on);
    this.#reader = new FrameReader({ ping: (payload) => this.#pong(payload), close: (code) => this.#closed(code) });
    this.#timer = this.#clock.after(limits.webSocketPingMs, () => this.#ping());
    socket.once('close', () => this.#timer.close());
    socket.on('finish', () => {
      // The client closes in answer; one that does not is not waited for.
      this.#timer.close();
      this.#timer = this.#clock.after(limits.lingerMs, () => socket.destroy());
    });
  }

  /** Takes what came from the client. */
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

  /** The client has said its last, or may say no more. */
  #closed(code: number): void {
    this.#deaf = true;
    // Both sides have closed: the server ends the connection (section 7.1.1).
    if (this.#closing) this.#socket.destroySoon();
    else this.#close(code);
  }

  /** Of pings that come faster than their answers are taken, some get none (section 5.5.3). */
  #pong(payload: Buffer): void {
    if (this.#closing || this.#socket.writableNeedDrain) return;
    this.#writer.write(frameOf(opcodes.pong, payload));
  }

  /** Asks whether the client is there; one that has not answered since the last time is not. */
  #ping(): void {
    if (!this.#heard) {
      this.#socket.destroy();
      return;
    }
    // Behind what the client has not taken yet, a ping would arrive no sooner than that.
    if (this.#writer.buffered === 0) {
      this.#heard = false;
      this.#writer.write(frameOf(opcodes.ping, nothing));
    }
    this.#timer = this.#clock.after(limits.webSocketPingMs, () => this.#ping());
  }
}
