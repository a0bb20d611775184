import type { TLSSocket } from 'node:tls';
import { Roster } from '../base/collections/roster.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { BaseExchange, ExchangeOwner } from './base-exchange.ts';
import type { Peer } from './exchange.ts';
import type { FloodGate, HeldRead, Sender } from './flood-gate.ts';
import type { OutputHolder } from './unread-output.ts';

/** Timeouts of connections, in milliseconds; tests shorten them. */
export type ConnectionLimits = Readonly<Record<'headersMsMax' | 'idleMsMax' | 'requestMsMax', number>>;

/** How to close a connection of either protocol. */
interface ConnectionEnding {
  /** Announces that no further request is served, lets those in progress finish, then closes. */
  retire(): void;
  /** The same for a protocol in which no request is lost by it. */
  leave?(): void;
  /** Closes immediately. */
  destroy(): void;
  /** Whether the client has begun to speak the protocol, with or without a request. */
  hasBegun?(): boolean;
  /** Called every `sweepMs`. */
  sweep?(sweepMs: number): void;
}

interface ConnectionOptions {
  readonly socket: TLSSocket;
  /** Added to every response, alternating names and values. */
  readonly headers: readonly string[];
  readonly gate: FloodGate;
}

/** One TLS connection: its peer and its requests in progress. */
export class Connection implements ExchangeOwner, OutputHolder {
  /** Shared by all requests of the connection. Read at construction: a closed socket no longer has the data. */
  readonly peer: Peer;
  readonly headers: readonly string[];
  readonly #ending: ConnectionEnding;
  readonly #exchanges = new Roster<BaseExchange>();
  #requests = 0;
  #requestsAtSweep = 0;
  #idleSweeps = 0;
  #retired = false;
  #leaving = false;
  readonly #gate: FloodGate;
  readonly #socket: TLSSocket;
  /** The sender of a request on it is known. */
  isKnown = false;
  #sender: Sender | undefined;
  /** The sender in whose name it may write much at once. */
  #largeWriterOf: Sender | undefined;
  #closed = false;

  constructor({ socket, headers, gate }: ConnectionOptions, ending: ConnectionEnding) {
    this.#gate = gate;
    this.#socket = socket;
    this.peer = peerOf(socket);
    this.headers = headers;
    this.#ending = ending;
  }

  /** Number of requests in progress. */
  get exchanges(): number {
    return this.#exchanges.size;
  }

  get retired(): boolean {
    return this.#retired;
  }

  started(exchange: BaseExchange): void {
    this.#requests += 1;
    exchange.place = this.#exchanges.add(exchange);
  }

  sentBy(sender: Sender | undefined, { isKnown = true } = {}): void {
    this.isKnown = isKnown;
    this.#sender = sender;
    this.#gate.count(sender);
  }

  get sender(): Sender | undefined {
    return this.#sender;
  }

  get writesLittle(): boolean {
    const sender = this.#sender;
    if (this.#largeWriterOf || sender === undefined || this.#closed) return false;
    return sender.largeWriters >= limits.largeWritersMax;
  }

  /** Takes a place of its sender until the connection closes, as TLS keeps what it needed for the largest write. */
  mayWriteLarge(): boolean {
    if (this.writesLittle) return false;
    const sender = this.#sender;
    if (this.#largeWriterOf || sender === undefined || this.#closed) return true;
    sender.largeWriters += 1;
    this.#largeWriterOf = sender;
    return true;
  }

  get pendingBytes(): number {
    return this.#socket.writableLength;
  }

  get writtenBytes(): number {
    // Node counts what is pending too.
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  get unsentBytes(): number {
    let bytes = 0;
    for (const exchange of this.#exchanges) bytes += Math.min(exchange.unsent, limits.unreadAnswerBytesMax);
    return bytes;
  }

  /** Of a client that takes nothing: no frame or response that says why would reach it. */
  cutOff(): void {
    this.#socket.destroy();
  }

  /** Takes over a read for later if the sender of the last request floods the server. */
  hold(read: HeldRead): boolean {
    if (this.#sender === undefined || !this.#gate.holds(this.#sender)) return false;
    this.#gate.wait(this.#sender, read);
    return true;
  }

  ended(exchange: BaseExchange): void {
    this.#exchanges.delete(exchange.place, exchange);
    if (this.#retired && this.#exchanges.size === 0) this.#ending.retire();
  }

  /** The next answer asks the client to connect again. Unlike `retire`, no request on its way is lost. */
  get leaving(): boolean {
    return this.#leaving || this.#retired;
  }

  leave(): void {
    if (this.#ending.leave) {
      this.#retired = true;
      this.#ending.leave();
    } else this.#leaving = true;
  }

  /** Accepts no further requests. An idle connection closes immediately. */
  retire(): void {
    this.#retired = true;
    this.#ending.retire();
  }

  /**
   * The socket has closed: ends the requests, in time slices, since many connections with very many watches may close
   * together. The promise resolves when all have ended.
   */
  async closed(clock: Clock): Promise<void> {
    this.#closed = true;
    if (this.#largeWriterOf) this.#largeWriterOf.largeWriters -= 1;
    this.#largeWriterOf = undefined;
    const slice = new TimeSlice(clock);
    for (const exchange of this.#exchanges) {
      if (slice.over) await slice.next();
      exchange.connectionClosed();
    }
  }

  /** Aborts all requests with the given reason and closes. */
  destroy(reason: Error): void {
    for (const exchange of this.#exchanges) exchange.abort(reason);
    this.#ending.destroy();
  }

  /**
   * Called every `sweepMs`: closes a connection that was idle for too long, and cuts off responses that the client
   * does not read. Counting sweeps avoids reading the clock for each request.
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
    // Clients may connect ahead of use; one that does not even begin to speak HTTP/2 is not such a client.
    const isSilent = this.#requests === 0 && this.#ending.hasBegun?.() !== true;
    const idleMsMax = isSilent ? max.headersMsMax : max.idleMsMax;
    if (this.#idleSweeps * sweepMs <= idleMsMax) return;
    if (this.#retired) this.#ending.destroy();
    else this.retire();
  }
}

function peerOf(socket: TLSSocket): Peer {
  const shown = socket.getPeerX509Certificate();
  // Some versions of Node report a resumed session without a certificate as authorized: the certificate decides.
  const certificate = socket.authorized ? shown : undefined;
  return {
    address: socket.remoteAddress ?? '',
    port: socket.remotePort ?? 0,
    certificate,
    certificateError: shown && !certificate ? String(socket.authorizationError ?? 'UNVERIFIED') : undefined,
  };
}
