import type { Duplex } from 'node:stream';
import type { Closable } from '../base/disposable.ts';
import type { KeyPairPem } from './connection-config.ts';

/** Outgoing connections, injected so that tests and simulations can substitute it. */
export interface Network {
  /** A pool of connections with one trust and client certificate. No connection is opened before the first request. */
  connect(options: ConnectOptions): HttpsConnections;
  /** All addresses of a host name. Rejects if there are none. */
  resolve(host: string): Promise<readonly string[]>;
  /** Opens one connection of bytes. Rejects if it fails or the signal is aborted first; afterwards the signal has no effect. */
  open(options: OpenOptions): Promise<Duplex>;
}

export interface OpenOptions {
  /** An IP address: whoever opens a connection has looked at where it goes. */
  readonly address: string;
  readonly port: number;
  /** Default: plain TCP. `serverName` is the name or address that the certificate must be for. */
  readonly tls?: Omit<ConnectOptions, 'keepAlive' | 'http2' | 'plain'> & { readonly serverName: string };
  readonly signal: AbortSignal;
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
  /** HTTP/1.1 without TLS: no certificate is looked at or shown. Default: TLS. */
  readonly plain?: boolean;
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
