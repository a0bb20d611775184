import https from 'node:https';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { Closable } from '../base/disposable.ts';
import type { KeyPairPem } from './connection-config.ts';

/** Outgoing HTTPS, injected so that tests and simulations can substitute it. */
export interface Network {
  /** A pool of connections with one trust and client certificate. No connection is opened before the first request. */
  connect(options: ConnectOptions): HttpsConnections;
}

export interface ConnectOptions {
  /** PEM of the CAs to verify servers against. Default: the operating system's; if there are none, the runtime's. */
  readonly authorities?: string;
  /** Name in the server's certificate, if it differs from the host of the request. */
  readonly serverName?: string;
  /** Server certificates are not verified, so any server is accepted. */
  readonly insecure?: boolean;
  /** Client certificate, presented when a connection is opened. */
  readonly certificate?: KeyPairPem;
  /** Whether connections are kept for later requests. */
  readonly keepAlive: boolean;
}

export interface HttpsConnections extends Closable {
  /** Rejects if no response arrives or the signal is aborted. Redirects are returned like other responses. */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
  /** Stops keeping connections; requests in progress continue. */
  retire(): void;
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly server: Pick<URL, 'hostname' | 'port'>;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: Uint8Array | string;
  /** Aborts the request, also while its response is being read. */
  readonly signal?: AbortSignal;
  /** Inactivity timeout in milliseconds. Default: none. */
  readonly silenceMsMax?: number;
  /**
   * The request has no side effects, so it can be sent again if a kept connection turns out to be closed: it is then
   * unknown whether the server received it.
   */
  readonly repeatable: boolean;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as it arrives; not reading it applies backpressure, leaving the iteration aborts the request. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts a response that is not read. */
  discard(): void;
}

/** The machine's network: HTTP/1.1 over TLS. Proxy settings of the environment are ignored. */
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
      // In a URL, IPv6 addresses are in brackets.
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
    // Busy connections are closed when they become free.
    this.#agent.maxFreeSockets = 0;
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }

  close(): void {
    this.#agent?.destroy();
  }
}

function createAgent({ authorities, serverName, insecure, certificate, keepAlive }: ConnectOptions): https.Agent {
  return new https.Agent({
    keepAlive,
    ...(insecure ? { rejectUnauthorized: false } : trusting(authorities, certificate !== undefined)),
    ...(serverName !== undefined && { servername: serverName }),
    ...(certificate && { cert: certificate.certificate, key: certificate.key }),
  });
}

type Trust = Pick<https.AgentOptions, 'ca' | 'secureContext'>;

/** A context holds the certificate as well, so that clients with one of their own cannot share it. */
function trusting(authorities: string | undefined, hasCertificate: boolean): Trust {
  if (authorities !== undefined) return { ca: authorities };
  return hasCertificate ? { ca: systemAuthorities() } : { secureContext: systemContext() };
}

/** The operating system's CAs; if there are none, as in small containers, the runtime's. */
function systemAuthorities(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? system : getCACertificates('default');
}

/** Cached: parsing all these CAs takes longer than the rest of a request. */
let sharedContext: SecureContext | undefined;

function systemContext(): SecureContext {
  sharedContext ??= createSecureContext({ ca: systemAuthorities() });
  return sharedContext;
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

/** The server closed a kept connection just as the request was sent on it. */
const isStale = (sent: SentRequest, error: unknown): boolean =>
  sent.reusedSocket && error instanceof Error && 'code' in error && staleCodes.includes(String(error.code));
const staleCodes: readonly string[] = ['ECONNRESET', 'EPIPE'];
