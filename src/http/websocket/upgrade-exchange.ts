import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/time/clock.ts';
import type { ExchangeOwner } from '../base-exchange.ts';
import type { BodyWriter, Headers, UpgradedConnection, UpgradeRequest, WebSocketRequest } from '../exchange.ts';
import { Http1Exchange } from '../http1-exchange.ts';
import type { WriterEvents } from '../response-writer.ts';
import { openingResponse, switchingResponse } from './handshake.ts';
import { WebSocket } from './web-socket.ts';

/**
 * Not imported: as a module, `node:http` also exports the WebSocket client classes, for which Node.js loads its whole
 * `fetch` client, a cost at every start.
 */
const { ServerResponse } = process.getBuiltinModule('node:http');

/** A request to upgrade its connection, already detached from Node's parser: its connection ends after any response. */
export class UpgradeExchange extends Http1Exchange implements WebSocketRequest {
  readonly upgrade: UpgradeRequest;
  readonly #request: IncomingMessage;
  readonly #socket: TLSSocket;
  readonly #clock: Clock;
  #opened: WebSocket | undefined;
  #isRaw = false;

  constructor(
    owner: ExchangeOwner,
    upgrade: {
      readonly request: IncomingMessage;
      readonly socket: TLSSocket;
      readonly target: string;
      /** In lower case. */
      readonly protocol: string;
      readonly clock: Clock;
    },
  ) {
    const { request, socket, target, protocol, clock } = upgrade;
    const response = new ServerResponse(request);
    super(owner, { request, response, method: request.method ?? '', target, closing: () => true, clock });
    this.#request = request;
    this.#socket = socket;
    this.#clock = clock;
    this.upgrade = { protocol, accept: (headers) => this.#accept(headers) };
    // 'close' follows every error and is handled.
    socket.on('error', () => {});
    // Read permanently: a socket that is not read does not report that the client disconnected.
    socket.on('data', this.#read);
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
  }

  get webSocket(): WebSocketRequest | undefined {
    return this.upgrade.protocol === 'websocket' ? this : undefined;
  }

  accept(protocol: string | undefined): BodyWriter {
    const head = openingResponse(this.#request, protocol, this.added);
    this.responded = true;
    this.status = 101;
    this.#socket.write(head);
    const on: WriterEvents = {
      written: this.countWritten,
      ended: () => {
        this.answered = true;
      },
      abort: () => {
        this.cutOff = true;
        this.#socket.destroy();
      },
      mayWriteLarge: () => this.mayWriteLarge(),
    };
    this.#opened = new WebSocket(this.#socket, { clock: this.#clock, on });
    return this.#opened;
  }

  #accept(headers: Headers): UpgradedConnection {
    const head = switchingResponse(this.upgrade.protocol, headers, this.added);
    const socket = this.#socket;
    this.responded = true;
    this.status = 101;
    this.#isRaw = true;
    socket.off('data', this.#read);
    socket.pause();
    // A client that has said all may still be told something.
    socket.allowHalfOpen = true;
    socket.once('finish', () => {
      this.answered = true;
    });
    socket.write(head);
    return { stream: socket, sent: this.countWritten };
  }

  /** The client must not send anything before the response (RFC 6455 section 4.1). */
  readonly #read = (chunk: Buffer): void => {
    if (this.#opened) this.#opened.read(chunk);
    else this.#socket.destroy();
  };

  override destroy(): void {
    super.destroy();
    this.#socket.destroy();
  }

  override connectionClosed(): void {
    this.end(this.isSent);
  }

  protected override get isSent(): boolean {
    return this.#opened || this.#isRaw ? this.answered && this.#socket.writableFinished : super.isSent;
  }
}
