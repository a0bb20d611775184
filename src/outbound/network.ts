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
  /** HTTP/2 is spoken with servers that offer it (ALPN, RFC 7301). Default: HTTP/1.1 only. */
  readonly http2?: boolean;
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
