import https from 'node:https';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { Closable } from '../base/disposable.ts';
import type { KeyPairPem } from './connection.ts';

/** HTTPS to others, injected so that tests and simulations answer themselves. */
export interface Network {
  /** Requests to servers that are verified, and shown who we are, in one way. No connection is made before the first. */
  connect(options: ConnectOptions): HttpsConnections;
}

export interface ConnectOptions {
  /** PEM of what certificates of servers are verified against, or all that the operating system trusts. Absent: all that the runtime does. */
  readonly authorities?: string;
  readonly trust?: 'system';
  /** The name that the certificate has, where it is not the host of the request. */
  readonly serverName?: string;
  /** Certificates are not verified: anybody can be the server. */
  readonly insecure?: boolean;
  /** Shown when a connection is made. */
  readonly certificate?: KeyPairPem;
  /** Whether connections are kept for the next request. */
  readonly keepAlive: boolean;
}

export interface HttpsConnections extends Closable {
  /** Rejects where no response came, and when the signal aborts. A redirect is a response like others. */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
  /** From now on no connection is kept; what is under way goes on. */
  retire(): void;
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly server: Pick<URL, 'hostname' | 'port'>;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: Uint8Array | string;
  /** Ends the request, also while its response is being read. */
  readonly signal?: AbortSignal;
  /** Silence after which it counts as broken. Milliseconds; absent: never. */
  readonly silenceMsMax?: number;
  /**
   * It changes nothing at the server, so that it may be sent again where a kept connection turns out to be closed: whether
   * the server has seen it cannot be known then.
   */
  readonly repeatable: boolean;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it comes; not reading it holds the server back, leaving the iteration ends the request. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends a response that is not read. */
  discard(): void;
}

/** The network of the machine: HTTP/1.1 over TLS. Proxies of the environment are not used. */
export const systemNetwork: Network = { connect: (options) => new SystemConnections(options) };

/** A pool can hold several connections that the server has closed. */
const attemptsMax = 3;

class SystemConnections implements HttpsConnections {
  readonly #options: ConnectOptions;
  #agent: https.Agent | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  async send(request: OutgoingRequest): Promise<OutgoingResponse> {
    for (let attempts = 1; ; attempts++) {
      request.signal?.throwIfAborted();
      const sent = this.#start(request);
      try {
        return await responseTo(sent);
      } catch (error) {
        if (!request.repeatable || !isStale(sent, error) || attempts === attemptsMax) throw error;
      }
    }
  }

  #start({ server, method, target, headers, body, signal, silenceMsMax }: OutgoingRequest): SentRequest {
    this.#agent ??= createAgent(this.#options);
    const sent = https.request({
      agent: this.#agent,
      // Brackets around IPv6 addresses belong to URLs.
      hostname: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port,
      method,
      path: target,
      headers,
      ...(signal && { signal }),
    });
    if (silenceMsMax !== undefined) {
      sent.setTimeout(silenceMsMax, () => sent.destroy(new Error(`the server was silent for ${silenceMsMax} ms`)));
    }
    sent.end(body);
    return sent;
  }

  retire(): void {
    if (!this.#agent) return;
    // Connections are closed as they get free.
    this.#agent.maxFreeSockets = 0;
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }

  close(): void {
    this.#agent?.destroy();
  }
}

function createAgent({
  authorities,
  trust,
  serverName,
  insecure,
  certificate,
  keepAlive,
}: ConnectOptions): https.Agent {
  return new https.Agent({
    keepAlive,
    rejectUnauthorized: insecure !== true,
    ...(trust === 'system' && { secureContext: systemContext() }),
    ...(authorities !== undefined && { ca: authorities }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(certificate && { cert: certificate.certificate, key: certificate.key }),
  });
}

/** Made once: reading the authorities of a system takes longer than the rest of a request. */
let madeForSystem: SecureContext | undefined;

/** Trusts the authorities of the operating system; where it has none, as in small containers, those of the runtime. */
function systemContext(): SecureContext {
  if (!madeForSystem) {
    const system = getCACertificates('system');
    madeForSystem = createSecureContext({ ca: system.length > 0 ? system : getCACertificates('default') });
  }
  return madeForSystem;
}

type SentRequest = ReturnType<typeof https.request>;

function responseTo(sent: SentRequest): Promise<OutgoingResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingResponse>();
  sent.on('response', (response) => {
    const { statusCode: status = 0, headers } = response;
    resolve({ status, headers, body: response, discard: () => void response.destroy() });
  });
  sent.on('error', reject);
  return promise;
}

/** The server closed a kept connection just as the request went out on it. */
const isStale = (sent: SentRequest, error: unknown): boolean =>
  sent.reusedSocket && error instanceof Error && 'code' in error && staleCodes.includes(String(error.code));
const staleCodes: readonly string[] = ['ECONNRESET', 'EPIPE'];
