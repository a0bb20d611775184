import { createHash } from 'node:crypto';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { within } from '../../src/base/waits-fixture.ts';
import { opcodes } from '../../src/http/websocket/frames.ts';
import { clientFrame, type ServerFrame, serverFrames } from '../../src/http/websocket/websocket-fixture.ts';
import type { OrchProcess } from './orch-process.ts';
import { openTls } from './raw-client.ts';

export interface WebSocketClientOptions {
  /** Header lines beside those of the handshake. */
  readonly headers?: readonly string[];
  /** Of the connection; the admin's certificate where nothing is said. */
  readonly connection?: ConnectionOptions;
}

const key = 'AQIDBAUGBwgJCgsMDQ4PEA==';

/** The client's side of a WebSocket, byte by byte. */
export class WebSocketClient {
  readonly #socket: TLSSocket;
  #bytes: Buffer = Buffer.alloc(0);
  #wake: (() => void)[] = [];
  /** What was answered to the handshake, or to the request instead: everything, where no WebSocket was opened. */
  head = '';
  /** Of messages, as they came. */
  readonly messages: ServerFrame[] = [];
  readonly others: ServerFrame[] = [];
  ended = false;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => {
      this.ended = true;
      if (this.head === '') this.head = this.#bytes.toString();
      this.#notify();
    });
  }

  /** Sends the request and waits until it is answered. */
  static async open(
    server: OrchProcess,
    path: string,
    { headers = [], connection = {} }: WebSocketClientOptions = {},
  ): Promise<WebSocketClient> {
    const client = new WebSocketClient(await openTls(server, connection));
    const asked = [
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${key}`,
    ];
    const host = `host: 127.0.0.1:${server.port}`;
    client.#socket.write([`GET ${path} HTTP/1.1`, host, ...asked, ...headers, '', ''].join('\r\n'));
    await client.until(() => client.status === 101 || client.ended);
    return client;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.head)?.[1] ?? Number.NaN);
  }

  /** A header of the answer; undefined where it has none. */
  header(name: string): string | undefined {
    return new RegExp(`^${name}: (.*?)\r?$`, 'im').exec(this.head)?.[1];
  }

  /** The server has read the key. */
  get accepted(): boolean {
    const expected = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    return this.header('sec-websocket-accept') === expected;
  }

  /** Why the server has closed; undefined while it has not. */
  get closeCode(): number | undefined {
    return this.others.find(({ opcode }) => opcode === opcodes.close)?.payload.readUInt16BE();
  }

  /** All messages, one after the other. */
  get text(): string {
    return this.messages.map(({ payload }) => payload.toString()).join('');
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (this.head === '') {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (!this.#bytes.toString('latin1').startsWith('HTTP/1.1 101 ') || end < 0) return;
      this.head = this.#bytes.subarray(0, end + 2).toString();
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    const { frames, rest } = serverFrames(this.#bytes);
    this.#bytes = rest;
    for (const frame of frames) (frame.opcode < opcodes.close ? this.messages : this.others).push(frame);
    this.#notify();
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  send(opcode: number, payload: Buffer | string = ''): void {
    this.#socket.write(clientFrame(opcode, payload));
  }

  #woken(what: string | (() => boolean)): Promise<void> {
    const woken = new Promise<void>((resolve) => this.#wake.push(resolve));
    return within(
      woken,
      () => `${what} does not come after ${this.messages.length} messages: ${this.text.slice(-1_000)}`,
    );
  }

  /** Waits until the condition holds; fails when the connection ends before. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.ended) throw new Error(`the WebSocket ended after ${this.messages.length} messages: ${this.head}`);
      await this.#woken(condition);
    }
  }

  /** Waits until the server has closed in order, and answers. */
  async closedByServer(): Promise<number> {
    await this.until(() => this.closeCode !== undefined);
    if (!this.#socket.destroyed) this.#socket.end(clientFrame(opcodes.close));
    while (!this.ended) await this.#woken('the end');
    return this.closeCode ?? 0;
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }
}
