import { connect, type TLSSocket } from 'node:tls';
import { limits } from '../../base/limits.ts';
import { SingleFlight } from '../../base/single-flight.ts';
import type { ConnectOptions, HttpsConnections, OutgoingRequest, OutgoingResponse } from '../network.ts';
import { hostOf, nameOf, tlsOptions } from './client-tls.ts';
import { Http1Connections } from './http1-connections.ts';
import type { Http2Session } from './http2-session.ts';
import { StreamFailure } from './stream-failure.ts';

/** The session that a request is to use may end just then; and so may the next one, of a server that restarts. */
const attemptsMax = 3;

/**
 * Connections by HTTP/2 with servers that offer it, else by HTTP/1.1. The first request finds out; its connection serves the
 * others that wait for it.
 */
export class NegotiatedConnections implements HttpsConnections {
  readonly #options: ConnectOptions;
  readonly #http1: Http1Connections;
  /** Servers that do not offer HTTP/2. */
  readonly #http1Servers = new Set<string>();
  /** The session for new requests, by server. */
  readonly #current = new Map<string, Http2Session>();
  readonly #sessions = new Set<Http2Session>();
  readonly #opening = new SingleFlight<Http2Session | undefined>();
  #closed = false;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#http1 = new Http1Connections(options);
  }

  async send(request: OutgoingRequest): Promise<OutgoingResponse> {
    for (let attempts = 1; ; attempts++) {
      request.signal?.throwIfAborted();
      const session = await this.#sessionFor(request);
      if (!session) return this.#http1.send(request);
      try {
        return await session.send(request);
      } catch (error) {
        if (!(error instanceof StreamFailure)) throw error;
        if (error.type === 'http1') this.#http1Servers.add(serverKey(request.server));
        if (attempts === attemptsMax || !isRepeated(error, request)) throw error.error;
      }
    }
  }

  /** Undefined: the server does not speak HTTP/2. */
  #sessionFor({ server, signal }: OutgoingRequest): Http2Session | undefined | Promise<Http2Session | undefined> {
    const key = serverKey(server);
    if (this.#http1Servers.has(key)) return undefined;
    const session = this.#current.get(key);
    if (session?.takesRequests) return session;
    return this.#opening.run(key, (all) => this.#open(server, all.signal), signal && { signal });
  }

  async #open(server: OutgoingRequest['server'], signal: AbortSignal): Promise<Http2Session | undefined> {
    // Loaded with the first call, to keep so much code out of the server's start.
    const { Http2Session } = await import('./http2-session.ts');
    const socket = await openTls(this.#options, server, signal);
    if (this.#closed) {
      socket.destroy();
      throw new Error('the client has been closed');
    }
    if (socket.alpnProtocol !== 'h2') {
      this.#http1Servers.add(serverKey(server));
      this.#http1.offer(socket);
      return undefined;
    }
    const session: Http2Session = new Http2Session(socket, `https://${serverKey(server)}`, () =>
      this.#sessions.delete(session),
    );
    this.#sessions.add(session);
    this.#current.set(serverKey(server), session);
    return session;
  }

  retire(): void {
    for (const session of this.#sessions) session.retire();
    this.#http1.retire();
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.close();
    this.#http1.close();
  }
}

function isRepeated({ type }: StreamFailure, { repeatable, signal }: OutgoingRequest): boolean {
  if (signal?.aborted) return false;
  return type === 'unprocessed' || type === 'http1' || (type === 'lost' && repeatable);
}

/** As in a URL: `host`, `host:port`. */
const serverKey = ({ hostname, port }: OutgoingRequest['server']): string => hostname + (port === '' ? '' : `:${port}`);

const httpsPort = 443;

/** A verified connection that the server has accepted. */
function openTls(options: ConnectOptions, server: OutgoingRequest['server'], signal: AbortSignal): Promise<TLSSocket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const host = hostOf(server);
  const socket = connect({
    ...{ host, port: server.port === '' ? httpsPort : Number(server.port), ALPNProtocols: ['h2', 'http/1.1'] },
    ...{ servername: nameOf(host), ...tlsOptions(options) },
  });
  const abort = (): void => void socket.destroy(signal.reason);
  signal.addEventListener('abort', abort);
  socket.setTimeout(limits.tlsConnectMsMax, () =>
    socket.destroy(new Error(`the server could not be connected to in ${limits.tlsConnectMsMax} ms`)),
  );
  socket.once('secureConnect', () => {
    socket.setTimeout(0).removeAllListeners('timeout');
    resolve(socket);
  });
  socket.on('error', reject);
  socket.once('close', () => reject(new Error('the server closed the connection before it was secure')));
  return promise.finally(() => signal.removeEventListener('abort', abort));
}
