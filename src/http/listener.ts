import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../base/time/clock.ts';
import { inOwnTurn } from '../base/time/turns.ts';
import { badRequest, StatusError } from '../meta/status-error.ts';
import { refuseAmbiguous } from './ambiguous-fields.ts';
import { type BaseExchange, bareResponse, constantHeaders } from './base-exchange.ts';
import { Connection, type ConnectionLimits } from './connection.ts';
import type { Exchange, Headers } from './exchange.ts';
import { FloodGate, Sender } from './flood-gate.ts';
import type { RequestHead } from './h2/request-head.ts';
import { Http2Session, type SessionLimits } from './h2/session.ts';
import type { ServerStream } from './h2/stream.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { type NamedCertificate, NamedCertificates } from './named-certificates.ts';
import { readTarget } from './target.ts';
import { UnreadOutput } from './unread-output.ts';
import { askedProtocol } from './websocket/handshake.ts';
import { UpgradeExchange } from './websocket/upgrade-exchange.ts';

/** PEM texts. */
export interface TlsMaterial {
  /** Serving certificate, followed by its intermediates. */
  readonly cert: string;
  readonly key: string;
  /** CAs that client certificates are verified against. Default: no client certificate is requested. */
  readonly ca?: string | readonly string[];
  /** SNI certificates, served instead of `cert` to clients that request one of their names. */
  readonly named?: readonly NamedCertificate[];
  /** Default: TLS 1.2. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL cipher names. Default: those of the runtime. */
  readonly ciphers?: string;
}

export type ListenerLimits = ConnectionLimits & SessionLimits & Readonly<Record<'handshakeMsMax', number>>;

export interface ListenOptions {
  readonly tls: TlsMaterial;
  /** An IP address of this machine; `0.0.0.0` or `::` for all. */
  readonly address: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Present if several listeners share the port: the system spreads connections over them (SO_REUSEPORT). */
  readonly spread?: ConnectionSpread;
  /** Called for every request of either protocol. If it throws, the client gets a Status. */
  readonly handle: (exchange: Exchange) => void;
  /** Responds with the error that `handle` threw, or that was found in the request before `handle`. */
  readonly refuse: (exchange: Exchange, error: unknown) => void;
  /**
   * Whether a request for this target may upgrade to a protocol. Other upgrade requests are served as ordinary requests.
   * Default: none may.
   */
  readonly upgrades?: (target: string, protocol: string) => boolean;
  /** Added to every response. */
  readonly headers?: Headers;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Probability that an HTTP/2 request makes its connection go away (`--goaway-chance`). Default: never. */
  readonly goaway?: { readonly chance: number; readonly random: Random };
  /** Overrides of `base/limits.ts`. */
  readonly limits?: Partial<ListenerLimits>;
}

/** How the connections of one port are spread over its listeners. */
export interface ConnectionSpread {
  /** Told at intervals how many connections this listener has. True if one should move to another listener. */
  sheds(connections: number): boolean;
}

export interface Listener extends Closable {
  /** As reported by the system. */
  readonly address: string;
  readonly port: number;
  /** Open TLS connections. */
  readonly connections: number;
  /** TLS handshakes that failed so far. */
  readonly handshakeErrors: number;
  /**
   * Replaces the certificate and the CAs for new connections. Open connections are kept, except those whose client
   * certificate was rejected: they are asked to reconnect, since the certificate may now be accepted.
   */
  setTls(tls: TlsMaterial): void;
  /** From now on neither the port nor its connections keep the process alive. */
  unref(): void;
  /** Accepts no new connections; open ones finish their requests and close. */
  stopAccepting(): void;
  /**
   * Stops accepting and resolves when every connection is closed. Connections left after `deadlineMs` are destroyed.
   * Watches do not end by themselves: end them first.
   */
  drain(deadlineMs: number): Promise<void>;
  /** Destroys all connections immediately. */
  close(): void;
}

/** Opens the server's port: TLS only, HTTP/2 and HTTP/1.1 by ALPN. Rejects if it cannot be opened. */
export function listen(options: ListenOptions): Promise<Listener> {
  const listener = new TlsListener(options);
  return listener.open(options);
}

class TlsListener implements Listener {
  readonly #server: Server;
  readonly #handle: ListenOptions['handle'];
  readonly #sendRefusal: ListenOptions['refuse'];
  readonly #upgrades: NonNullable<ListenOptions['upgrades']>;
  readonly #headers: readonly string[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: ListenerLimits;
  readonly #asksForCertificates: boolean;
  readonly #goesAway: () => boolean;
  readonly #spread: ConnectionSpread | undefined;
  readonly #gate: FloodGate;
  readonly #strangers = new Sender();
  #named: NamedCertificates;
  /** All TCP connections, including those still in the TLS handshake, so that none is leaked on close. */
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Map<TLSSocket, Connection>();
  /** Number of closed connections whose requests have not all ended. */
  #closing = 0;
  /** HTTP/1.1 connections that were sent an error before closing, with the bytes received until then. */
  readonly #refused = new WeakMap<Socket, number>();
  readonly #closed = Promise.withResolvers<void>();
  #sweep: Closable | undefined;
  #unreadOutput: Closable | undefined;
  #shedding: Closable | undefined;
  #accepting = true;
  #keepsAlive = true;
  #serverClosed = false;
  address = '';
  port = 0;
  handshakeErrors = 0;

  constructor({
    tls,
    handle,
    refuse,
    upgrades,
    headers = {},
    clock,
    logger,
    limits: overrides,
    goaway,
    spread,
  }: ListenOptions) {
    this.#handle = handle;
    this.#sendRefusal = refuse;
    this.#upgrades = upgrades ?? (() => false);
    this.#headers = constantHeaders(headers);
    this.#clock = clock;
    this.#logger = logger;
    this.#limits = { ...limits, ...overrides };
    this.#asksForCertificates = tls.ca !== undefined;
    this.#goesAway = atRandom(goaway);
    this.#spread = spread;
    this.#gate = new FloodGate(clock);
    this.#named = namedCertificates(tls);
    this.#server = createServer({
      ...secureContext(tls),
      ...http1Options(this.#limits),
      // Without this callback Node would detach every request with an Upgrade header from the parser, and its body
      // would not be read.
      shouldUpgradeCallback: (request) => this.#mayUpgrade(request),
      ALPNProtocols: ['h2', 'http/1.1'],
      SNICallback: (name, choose) => choose(null, this.#named.find(name)),
      requestCert: this.#asksForCertificates,
      // A certificate that cannot be verified does not fail the handshake: the response is a 401 that explains it.
      rejectUnauthorized: false,
      handshakeTimeout: this.#limits.handshakeMsMax,
      noDelay: true,
      // Detects dead peers on connections with idle watches.
      keepAlive: true,
      keepAliveInitialDelay: limits.tcpKeepAliveMs,
    });
    this.#server.maxConnections = limits.connectionsMax;
    // No limit on the number of headers, so that none is dropped: their total size is limited.
    this.#server.maxHeadersCount = 0;
    this.#wire();
  }

  open({ address, port, spread }: Pick<ListenOptions, 'address' | 'port' | 'spread'>): Promise<Listener> {
    const { promise, resolve, reject } = Promise.withResolvers<Listener>();
    this.#server.once('error', reject);
    this.#server.listen({ host: address, port, ...(spread && { reusePort: true }) }, () => {
      this.#server.off('error', reject);
      this.#server.on('error', (error) => this.#logger.error('the listener failed', { error }));
      const bound = this.#server.address() as AddressInfo;
      this.address = bound.address;
      this.port = bound.port;
      this.#scheduleSweep();
      this.#unreadOutput = new UnreadOutput(this.#clock, () => this.#connections.values());
      this.#scheduleShedding();
      resolve(this);
    });
    return promise;
  }

  get connections(): number {
    return this.#connections.size;
  }

  setTls(tls: TlsMaterial): void {
    if ((tls.ca !== undefined) !== this.#asksForCertificates) {
      throw new TypeError('whether client certificates are asked for cannot change while the listener is open');
    }
    const named = namedCertificates(tls);
    this.#server.setSecureContext(secureContext(tls));
    this.#named = named;
    for (const connection of this.#connections.values()) {
      if (connection.peer.certificateError !== undefined) connection.retire();
    }
  }

  unref(): void {
    this.#keepsAlive = false;
    this.#server.unref();
    for (const socket of this.#sockets) socket.unref();
  }

  stopAccepting(): void {
    if (!this.#accepting) return;
    this.#accepting = false;
    this.#shedding?.close();
    this.#server.close(() => {
      this.#serverClosed = true;
      this.#checkClosed();
    });
    for (const connection of this.#connections.values()) connection.retire();
  }

  async drain(deadlineMs: number): Promise<void> {
    this.stopAccepting();
    const deadline = this.#clock.after(deadlineMs, () => this.#destroyAll());
    await this.#closed.promise;
    deadline.close();
    this.#sweep?.close();
    this.#unreadOutput?.close();
    this.#gate.close();
  }

  close(): void {
    this.#sweep?.close();
    this.#unreadOutput?.close();
    this.stopAccepting();
    this.#destroyAll();
  }

  #destroyAll(): void {
    const reason = new StatusError('ServiceUnavailable', 'the server is shutting down');
    for (const connection of this.#connections.values()) connection.destroy(reason);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A TLS socket closes slightly later than the TCP socket below it. */
  #checkClosed(): void {
    if (this.#serverClosed && this.#connections.size === 0 && this.#closing === 0) this.#closed.resolve();
  }

  #wire(): void {
    const server = this.#server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      if (!this.#keepsAlive) socket.unref();
      socket.once('close', () => this.#sockets.delete(socket));
    });
    // Node serves HTTP/1.1 on every TLS connection; call that handler only for connections that did not negotiate
    // HTTP/2.
    const serveHttp1 = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === 'h2') this.#acceptHttp2(socket);
      else {
        this.#acceptHttp1(socket);
        for (const serve of serveHttp1) serve.call(server, socket);
      }
    });
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
      server.on(event, (request: IncomingMessage, response: ServerResponse) => {
        this.#serveHttp1(request, response);
      });
    }
    server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
      this.#serveUpgrade(request, socket, head);
    });
    server.on('connect', (_request: unknown, socket: Socket) => this.#refuse(socket, 405, 'Method Not Allowed'));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#clientError(error, socket));
  }

  #acceptHttp1(socket: TLSSocket): void {
    const connection = new Connection(
      { socket, headers: this.#headers, gate: this.#gate },
      {
        retire: () => {
          if (connection.exchanges === 0) socket.destroySoon();
        },
        destroy: () => socket.destroy(),
      },
    );
    this.#accept(socket, connection);
  }

  #acceptHttp2(socket: TLSSocket): void {
    const session = new Http2Session({
      socket,
      clock: this.#clock,
      logger: this.#logger,
      limits: this.#limits,
      onRequest: (stream) => this.#serveHttp2(connection, stream),
      hold: (read) => connection.hold(read),
      mayWriteLarge: () => connection.mayWriteLarge(),
    });
    const connection = new Connection(
      { socket, headers: this.#headers, gate: this.#gate },
      {
        retire: () => session.leave(),
        leave: () => session.leave(),
        destroy: () => session.destroy(),
        hasBegun: () => session.hasBegun,
        sweep: (sweepMs) => session.sweep(sweepMs),
      },
    );
    this.#accept(socket, connection);
  }

  #accept(socket: TLSSocket, connection: Connection): void {
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      this.#closing += 1;
      void connection.closed(this.#clock).then(() => {
        this.#closing -= 1;
        this.#checkClosed();
      });
    });
    if (!this.#accepting) connection.retire();
  }

  #serveHttp2(connection: Connection, stream: ServerStream): void {
    const { head } = stream;
    const { target, refused } = readTarget(head.method, head.path);
    const exchange = new Http2Exchange(connection, stream, target);
    this.#serve(connection, exchange, headRefusal(head) ?? refuseExpectation(exchange) ?? refused);
    if (this.#goesAway()) connection.retire();
  }

  #serveHttp1(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket as TLSSocket);
    keepReading(request.socket);
    // Limits pipelined requests on one connection: no real client sends this many.
    if (!connection || connection.exchanges >= this.#limits.streamsPerConnectionMax) {
      request.socket.destroy();
      return;
    }
    const method = request.method ?? '';
    const { target, refused } = readTarget(method, request.url ?? '');
    const ambiguous = refuseAmbiguous(request);
    // Close the connection after an ambiguous request: client and server may disagree about it.
    const closing = () => connection.leaving || ambiguous !== undefined;
    const exchange = new Http1Exchange(connection, { request, response, method, target, closing, clock: this.#clock });
    const problem = ambiguous ?? refuseExpectation(exchange) ?? refused;
    const isFirst = connection.exchanges === 0;
    connection.started(exchange);
    const handle = (): void => {
      if (exchange.ending === undefined) this.#handleOrRefuse(connection, exchange, problem);
    };
    // Pipelined requests are parsed together, but are not all handled in one turn of the event loop.
    if (connection.hold(handle)) return;
    if (isFirst) handle();
    else inOwnTurn(handle);
  }

  /** Only if no other request is in progress on the connection: its response could not be sent before the events. */
  #mayUpgrade(request: IncomingMessage): boolean {
    const protocol = askedProtocol(request);
    if (protocol === undefined) return false;
    if (this.#connections.get(request.socket as TLSSocket)?.exchanges !== 0) return false;
    return this.#upgrades(readTarget('GET', request.url ?? '').target, protocol);
  }

  #serveUpgrade(request: IncomingMessage, socket: TLSSocket, head: Buffer): void {
    const connection = this.#connections.get(socket);
    if (!connection) {
      socket.destroy();
      return;
    }
    const { target, refused } = readTarget('GET', request.url ?? '');
    const protocol = askedProtocol(request) ?? '';
    const early = head.length > 0 ? badRequest('a client that asks for an upgrade waits for the answer') : undefined;
    const exchange = new UpgradeExchange(connection, { request, socket, target, protocol, clock: this.#clock });
    this.#serve(connection, exchange, refuseAmbiguous(request) ?? refused ?? early);
  }

  #serve(connection: Connection, exchange: BaseExchange, refused: StatusError | undefined): void {
    connection.started(exchange);
    this.#handleOrRefuse(connection, exchange, refused);
  }

  #handleOrRefuse(connection: Connection, exchange: BaseExchange, refused: StatusError | undefined): void {
    try {
      if (refused) throw refused;
      this.#handle(exchange);
    } catch (error) {
      this.#sendRefusal(exchange, error);
    }
    // Strangers share the time of one sender until they say who they are.
    if (!connection.isKnown) connection.sentBy(this.#strangers, { isKnown: false });
  }

  /** Input that is not HTTP: answers and closes the connection. A failed handshake gets no answer. */
  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    this.#logger.debug('a connection failed', { error });
    const refusedAt = this.#refused.get(socket);
    if (refusedAt !== undefined) {
      // Further input is dropped up to a limit.
      if (socket.bytesRead - refusedAt > limits.lingerBytesMax) socket.destroy();
    } else if (!(socket instanceof TLSSocket) || !this.#connections.has(socket)) {
      this.handshakeErrors += 1;
      if (isPlainHttp(error)) this.#answerPlain(socket);
      socket.destroy();
    } else if (error.code === 'HPE_HEADER_OVERFLOW') this.#refuse(socket, 431, 'Request Header Fields Too Large');
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#refuse(socket, 408, 'Request Timeout');
    else if (error.code?.startsWith('HPE_')) this.#refuse(socket, 400, 'Bad Request');
    else socket.destroy();
  }

  /** Drains further input for a while: closing with unread bytes would reset the connection and lose the response. */
  #refuse(socket: Socket, status: number, phrase: string): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    this.#refused.set(socket, socket.bytesRead);
    socket.end(bareResponse(status, phrase, this.#headers));
    const deadline = this.#clock.after(limits.lingerMs, () => socket.destroy());
    socket.once('close', () => deadline.close());
  }

  /** Answers plain HTTP on the TLS port with Go's message, on the TCP connection below the TLS one. */
  #answerPlain({ remoteAddress, remotePort }: Socket): void {
    for (const socket of this.#sockets) {
      if (socket.remotePort !== remotePort || socket.remoteAddress !== remoteAddress) continue;
      socket.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
      return;
    }
  }

  /** Tells a client to connect again where this listener has more than its share: the one with the fewest requests. */
  #scheduleShedding(): void {
    const spread = this.#spread;
    if (!spread) return;
    this.#shedding = this.#clock.after(limits.connectionShedMs, () => {
      this.#scheduleShedding();
      const open = [...this.#connections.values()].filter((connection) => !connection.leaving);
      if (!spread.sheds(open.length)) return;
      let chosen: Connection | undefined;
      for (const connection of open) if (!chosen || connection.exchanges < chosen.exchanges) chosen = connection;
      chosen?.leave();
    });
  }

  #scheduleSweep(): void {
    const sweepMs = Math.max(1, Math.min(this.#limits.headersMsMax, this.#limits.idleMsMax) / 4);
    this.#sweep = this.#clock.after(sweepMs, () => {
      for (const connection of this.#connections.values()) connection.sweep(sweepMs, this.#limits);
      this.#scheduleSweep();
    });
  }
}

const namedCertificates = (tls: TlsMaterial): NamedCertificates =>
  new NamedCertificates(tls.named ?? [], ({ cert, key }) => createSecureContext(secureContext({ ...tls, cert, key })));

/** Returns true with the given probability; reads no random bytes if the probability is 0. */
function atRandom(goaway: ListenOptions['goaway']): () => boolean {
  if (!goaway || goaway.chance === 0) return () => false;
  return () => Buffer.from(goaway.random.bytes(4)).readUInt32BE() < goaway.chance * 2 ** 32;
}

const secureContext = ({ cert, key, ca, minVersion = 'TLSv1.2', ciphers }: TlsMaterial) => ({
  cert,
  key,
  ...(ca !== undefined && { ca: typeof ca === 'string' ? ca : [...ca] }),
  minVersion,
  ...(ciphers !== undefined && { ciphers }),
  // Session resumption would restore the earlier verification result and only the leaf certificate. Without tickets
  // or a session cache, each connection presents its full chain and is verified again.
  ...(ca !== undefined && { secureOptions: constants.SSL_OP_NO_TICKET }),
});

function headRefusal({ problem }: RequestHead): StatusError | undefined {
  switch (problem?.kind) {
    case 'malformed':
      return badRequest(`the request is malformed: ${problem.message}`);
    case 'tooLarge':
      return new StatusError('BadRequest', 'the header fields of the request are too large', { code: 431 });
    case undefined:
      return undefined;
  }
}

const http1Options = (max: ListenerLimits) => ({
  maxHeaderSize: max.headerBytesMax,
  headersTimeout: Math.min(max.headersMsMax, max.requestMsMax),
  requestTimeout: max.requestMsMax,
  connectionsCheckingInterval: Math.max(10, max.headersMsMax / 4),
  keepAliveTimeout: max.idleMsMax,
  insecureHTTPParser: false,
  // `refuseAmbiguous` checks it, so that the response is a Status.
  requireHostHeader: false,
});

/** OpenSSL's error codes for a handshake that starts with an HTTP request line. */
const isPlainHttp = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_SSL_HTTP_REQUEST' || code === 'ERR_SSL_HTTPS_PROXY_REQUEST';

/** The only expectation that servers must support is 100-continue (RFC 9110 section 10.1.1). */
function refuseExpectation(exchange: Exchange): StatusError | undefined {
  const expectation = exchange.header('expect') ?? '';
  if (expectation === '' || expectation.toLowerCase() === '100-continue') return undefined;
  return new StatusError('BadRequest', 'the server knows no expectation but 100-continue', { code: 417 });
}

/**
 * Node pauses a connection whose last answer is not flushed yet when the next request comes. What was decrypted by then is
 * parsed all the same, and counts as malformed (HPE_PAUSED): a client that has read a large answer and sends a large body at
 * once would get 400. What is pipelined or not read is limited elsewhere.
 */
function keepReading(socket: Socket & { _paused?: boolean }): void {
  if (!socket._paused) return;
  socket._paused = false;
  socket.resume();
}
