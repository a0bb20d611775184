import type { X509Certificate } from 'node:crypto';
import type { Duplex, Readable } from 'node:stream';
import type { Span } from '../base/span.ts';
import type { Sender } from './flood-gate.ts';
import type { SharedChunk } from './shared-chunk.ts';

/** Response headers; names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Remote end of a connection, as the TLS layer sees it. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /**
   * Leaf client certificate, if it was verified against the listener's CAs. All requests of a connection share this
   * object, so data derived from it can be kept in a WeakMap.
   */
  readonly certificate: X509Certificate | undefined;
  /**
   * OpenSSL's name of the reason why the client certificate was rejected (`CERT_HAS_EXPIRED`); undefined if the
   * client sent none or it was verified. The handshake succeeds anyway, so that the response can be a 401.
   */
  readonly certificateError: string | undefined;
}

/** A connection whose writers can batch their output. */
export interface Outlet {
  /** Defers everything written from now on until `flush`, which must follow in the same turn of the event loop. */
  hold(): void;
  /** Sends the deferred output, as far as the connection accepts it now. */
  flush(): void;
}

/** Writes a response body in parts. */
export interface BodyWriter {
  /**
   * Returns false when the connection's buffer is full: wait for `drained` before writing more. Does nothing once the
   * client is gone. `sent` is called when the chunk's bytes are no longer referenced and can be reused; it is never
   * called if that is not certain, as when the client disconnected.
   */
  write(chunk: Uint8Array | string, sent?: () => void): boolean;
  /** Writes a chunk that other responses send too. Default: `write` with its bytes. */
  writeShared?(chunk: SharedChunk): boolean;
  /** Shared by all writers of one connection. Absent if each write is sent immediately. */
  readonly outlet?: Outlet;
  /** Resolves when the buffer has room or the client is gone. */
  drained(): Promise<void>;
  /** Bytes waiting for the client. */
  readonly buffered: number;
  end(chunk?: Uint8Array | string): void;
  /** Ends the response so that the client sees that it was truncated. */
  abort(): void;
}

/** A request to upgrade to a WebSocket on which only the server sends messages (RFC 6455). */
export interface WebSocketRequest {
  /**
   * Opens the WebSocket instead of sending a response. The writer takes whole frames. `protocol` is the selected
   * sub-protocol, one of those that the client offered. Throws a StatusError, with nothing sent, if the handshake is
   * invalid.
   */
  accept(protocol: string | undefined): BodyWriter;
}

/** A request to speak another protocol on its connection (RFC 9110 section 7.8), which only HTTP/1.1 has. */
export interface UpgradeRequest {
  /** In lower case: `websocket`, `spdy/3.1`. */
  readonly protocol: string;
  /** Sends 101 with these headers, instead of a response. From then on the connection is bytes in both directions. */
  accept(headers: Headers): UpgradedConnection;
}

export interface UpgradedConnection {
  /** Whoever uses it closes it; the exchange ends with it. */
  readonly stream: Duplex;
  /** Tells how many bytes were sent to the client, for logs and metrics. */
  sent(bytes: number): void;
}

/**
 * How an exchange ended: whole response sent, cut off by the server, or client disconnected before it had all of it.
 */
export type Ending = 'complete' | 'cutOff' | 'clientGone';

/** One request and its response; the same interface for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  readonly protocol: 'HTTP/1.1' | 'HTTP/2.0';
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly peer: Peer;
  /** A request header by its lower-case name; multiple lines are joined with ', '. */
  header(name: string): string | undefined;
  /** All values of a header, one per line. */
  headerLines(name: string): readonly string[];
  /** Names of all request headers, in lower case. */
  headerNames(): readonly string[];
  /** Whether any header name starts with `prefix` (lower case); cheaper than iterating over all names. */
  hasHeaderPrefix(prefix: string): boolean;
  /**
   * Hides the headers for which `isHidden` returns true from all readers from now on. Names are passed in lower case.
   * Headers hidden earlier stay hidden.
   */
  hideHeaders(isHidden: (name: string) => boolean): void;
  /** Aborted when the client disconnects, the server shuts down or the request's deadline passes. */
  readonly signal: AbortSignal;
  /** Aborts the signal with the given reason. */
  abort(reason: Error): void;
  /**
   * Reads the whole body. Rejects with a StatusError: RequestEntityTooLarge past `bytesMax` (the connection is then
   * closed after the response), BadRequest if the client stops midway; or with the reason given to `abort`, after
   * whose response the connection or stream is closed as well. `received` is called with the length of each part as
   * it arrives, and may abort.
   */
  body(bytesMax: number, received?: (bytes: number) => void): Promise<Buffer>;
  /**
   * The body as it arrives, in place of `body`: reading no further makes the client wait. Fails if the client stops midway.
   * Undefined if the request has none.
   */
  bodyStream(): Readable | undefined;
  /** Tells whom the request is counted for, see FloodGate; undefined for one who is never held up. */
  sentBy?(sender: Sender | undefined): void;
  /** See Caller: the answer does not wait for the store. */
  local?: boolean | undefined;
  /** Adds an audit annotation. Set if the request is recorded. */
  annotate?: ((key: string, value: string) => void) | undefined;
  /** Told of an API object that a path is answered with, as JSON in one line. Set if answers are recorded. */
  answersObject?: ((json: Uint8Array) => void) | undefined;
  /** The operation under way, if the request is traced. */
  span?: Span | undefined;
  /** The ID that log lines about the request carry. Assigned by the pipeline. */
  auditId?: string | undefined;
  /**
   * Called once when a whole response is about to be sent, or the end of one that is sent in parts, which then waits for
   * the result. It must not reject. In-process clients and WebSockets do not wait.
   */
  beforeResponse?: ((status: number) => Promise<unknown> | undefined) | undefined;
  /** Set if the request asks to upgrade to a WebSocket. It may still be answered with an ordinary response. */
  readonly webSocket?: WebSocketRequest | undefined;
  /** Set if the request asks for another protocol, a WebSocket among them, and may get it. */
  readonly upgrade?: UpgradeRequest | undefined;
  /** Adds a header to the response, however it is sent. Only before the response starts. */
  setHeader(name: string, value: string | readonly string[]): void;
  /** Adds a `Warning` header to the response, within limits, however it is sent. Only before the response starts. */
  warn(text: string): void;
  /** Sends a whole response. */
  respond(status: number, headers: Headers, body?: Uint8Array | string): void;
  /** Starts a response whose body follows. */
  stream(status: number, headers: Headers): BodyWriter;
  /** True once a response has been started. */
  readonly responded: boolean;
  /** Status of the response; 0 until it has started. */
  readonly status: number;
  /** Bytes of the response body written so far, as sent: after compression, and with framing for a WebSocket. */
  readonly bodyBytes: number;
  /** How the exchange ended; undefined until then. */
  readonly ending: Ending | undefined;
  /** Its connection writes little at once, so that a body is better made little by little too. */
  readonly writesLittle?: boolean;
  /** Bytes of the response that were written and still wait for the client. */
  readonly unsent: number;
  /** Closes the stream or connection immediately, so that the client sees that the response was truncated. */
  destroy(): void;
  /** Runs once when the response has been sent or the client is gone. */
  onEnd(callback: () => void): void;
}
