import type { TLSSocket } from 'node:tls';
import type { BaseExchange, ExchangeOwner } from './base-exchange.ts';
import type { Peer } from './exchange.ts';

/** The times that the listener holds connections to; tests shorten them. Milliseconds. */
export type ConnectionLimits = Readonly<Record<'headersMsMax' | 'idleMsMax' | 'requestMsMax', number>>;

/** How connections of either protocol end. */
interface ConnectionEnding {
  /** Tells the client that no further request is served, lets those under way finish, then closes. */
  retire(): void;
  /** Closes at once. */
  destroy(): void;
  /** Called every `sweepMs`. */
  sweep?(sweepMs: number): void;
}

/** One TLS connection: its peer, and what is under way on it. */
export class Connection implements ExchangeOwner {
  /** The same object for every request of the connection. Read at once: a closed socket has forgotten it. */
  readonly peer: Peer;
  readonly headers: readonly string[];
  readonly #ending: ConnectionEnding;
  readonly #exchanges = new Set<BaseExchange>();
  #requests = 0;
  #requestsAtSweep = 0;
  #idleSweeps = 0;
  #retired = false;

  /** `headers` are those of every response, name and value in turns. */
  constructor(socket: TLSSocket, headers: readonly string[], ending: ConnectionEnding) {
    this.peer = peerOf(socket);
    this.headers = headers;
    this.#ending = ending;
  }

  /** Requests under way. */
  get exchanges(): number {
    return this.#exchanges.size;
  }

  get retired(): boolean {
    return this.#retired;
  }

  started(exchange: BaseExchange): void {
    this.#requests += 1;
    this.#exchanges.add(exchange);
  }

  ended(exchange: BaseExchange): void {
    this.#exchanges.delete(exchange);
    if (this.#retired && this.#exchanges.size === 0) this.#ending.retire();
  }

  /** No further requests. A connection on which nothing is under way closes at once. */
  retire(): void {
    this.#retired = true;
    this.#ending.retire();
  }

  /** The socket has closed. */
  closed(): void {
    for (const exchange of [...this.#exchanges]) exchange.connectionClosed();
  }

  /** Ends what is under way, for that reason, and closes. */
  destroy(reason: Error): void {
    for (const exchange of [...this.#exchanges]) exchange.abort(reason);
    this.#ending.destroy();
  }

  /**
   * Called every `sweepMs`: closes a connection on which nothing was under way for too long, and ends responses that the
   * client does not take. Counting sweeps instead of reading the clock keeps requests free of it.
   */
  sweep(sweepMs: number, max: ConnectionLimits): void {
    this.#sweepIdle(sweepMs, max);
    this.#ending.sweep?.(sweepMs);
    for (const exchange of this.#exchanges) {
      if (!exchange.answered) continue;
      exchange.sweepsAnswered += 1;
      if (exchange.sweepsAnswered * sweepMs > max.requestMsMax) exchange.destroy();
    }
  }

  #sweepIdle(sweepMs: number, max: ConnectionLimits): void {
    const idle = this.#exchanges.size === 0 && this.#requests === this.#requestsAtSweep;
    this.#requestsAtSweep = this.#requests;
    this.#idleSweeps = idle ? this.#idleSweeps + 1 : 0;
    const idleMsMax = this.#requests === 0 ? max.headersMsMax : max.idleMsMax;
    if (this.#idleSweeps * sweepMs <= idleMsMax) return;
    if (this.#retired) this.#ending.destroy();
    else this.retire();
  }
}

function peerOf(socket: TLSSocket): Peer {
  const shown = socket.getPeerX509Certificate();
  // A resumed session without a certificate counts as authorized in some versions of Node: the certificate decides.
  const certificate = socket.authorized ? shown : undefined;
  return {
    address: socket.remoteAddress ?? '',
    port: socket.remotePort ?? 0,
    certificate,
    certificateError: shown && !certificate ? String(socket.authorizationError ?? 'UNVERIFIED') : undefined,
  };
}
