import type { X509Certificate } from 'node:crypto';
import type { SharedChunk } from './shared-chunk.ts';

/** Response headers; names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** What the TLS layer knows of the other side. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /**
   * The certificate that the client showed, when it was verified against the authorities of the listener; only the leaf.
   * The same object for every request of a connection, so that what is made of it can be kept in a WeakMap.
   */
  readonly certificate: X509Certificate | undefined;
  /**
   * Why a certificate that the client showed was not accepted, as OpenSSL names it (`CERT_HAS_EXPIRED`); undefined when
   * none was shown or it was verified. The handshake goes on all the same, so that the answer can be a 401.
   */
  readonly certificateError: string | undefined;
}

/** Where what several writers write leaves together: a connection. */
export interface Outlet {
  /** What is written from now on waits for `flush`, which has to follow in the same turn of the event loop. */
  hold(): void;
  /** Sends what waits, as far as the connection takes it now. */
  flush(): void;
}

/** Writes a body in parts. */
export interface BodyWriter {
  /**
   * False when the connection's buffer is full: wait for `drained` before more. Does nothing once the client is gone.
   * `sent` is called when nobody looks at the chunk's bytes any more, so that they can be used again; where that is not
   * known for sure, as when the client went away, it is never called.
   */
  write(chunk: Uint8Array | string, sent?: () => void): boolean;
  /** `write` of what other responses send as well. Absent where `write` of its bytes is as good. */
  writeShared?(chunk: SharedChunk): boolean;
  /** The same for all writers of one connection. Absent where each write leaves by itself. */
  readonly outlet?: Outlet;
  /** Resolves when the buffer has room or the client is gone. */
  drained(): Promise<void>;
  /** Bytes that wait for the client. */
  readonly buffered: number;
  end(chunk?: Uint8Array | string): void;
  /** Ends the response so that the client sees it was cut off. */
  abort(): void;
}

/** A request that asks for its connection to become a WebSocket on which only the server speaks (RFC 6455). */
export interface WebSocketRequest {
  /**
   * Opens it, in the place of a response. What is written are whole frames. `protocol` is the sub-protocol that is spoken, of
   * those that the client offered. Throws a StatusError, with nothing sent, where the handshake is not as it must be.
   */
  accept(protocol: string | undefined): BodyWriter;
}

/**
 * How an exchange ended: the whole response was sent, the server cut it off, or the client went away before it had all
 * of it.
 */
export type Ending = 'complete' | 'cutOff' | 'clientGone';

/** One request and its response, the same over HTTP/1.1 and HTTP/2. */
export interface Exchange {
  readonly protocol: 'HTTP/1.1' | 'HTTP/2.0';
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly peer: Peer;
  /** A request header by its lower-case name; several lines are joined by ', '. */
  header(name: string): string | undefined;
  /** All values of a header, one for each line. */
  headerLines(name: string): readonly string[];
  /** Names of all request headers, in lower case. */
  headerNames(): readonly string[];
  /** Whether there is a header whose name begins so; cheaper than to go through all names. In lower case. */
  hasHeaderBeginning(prefix: string): boolean;
  /**
   * From now on the request has no headers of the names that `isHidden` picks, for whoever looks. Names are given in lower
   * case. What was hidden before stays so.
   */
  hideHeaders(isHidden: (name: string) => boolean): void;
  /** Aborts when the client goes away, the server shuts down or the deadline of the request passes. */
  readonly signal: AbortSignal;
  /** Aborts the exchange's signal with that reason. */
  abort(reason: Error): void;
  /**
   * Reads the whole body. Rejects with a StatusError: RequestEntityTooLarge past `bytesMax` (the connection then ends
   * after the response), BadRequest when the client stops in the middle; and with the reason of `abort`, after whose answer
   * the connection or stream ends as well. `received` is told the length of each part that comes, and may abort.
   */
  body(bytesMax: number, received?: (bytes: number) => void): Promise<Buffer>;
  /** Set where the request asks to become a WebSocket. It may be answered like any other instead. */
  readonly webSocket?: WebSocketRequest | undefined;
  /** Adds a header to the response, whichever way it is made. Only before it starts. */
  setHeader(name: string, value: string | readonly string[]): void;
  /** Adds a `Warning` header to the response, within limits, whichever way it is made. Only before it starts. */
  warn(text: string): void;
  /** Sends a whole response. */
  respond(status: number, headers: Headers, body?: Uint8Array | string): void;
  /** Starts a response whose body follows. */
  stream(status: number, headers: Headers): BodyWriter;
  /** True once a response was started. */
  readonly responded: boolean;
  /** Status of the response; 0 until one was started. */
  readonly status: number;
  /** Bytes of the response's body that were handed over, as they are sent: compressed, and framed where it is a WebSocket. */
  readonly bodyBytes: number;
  /** How the exchange ended; undefined until then. */
  readonly ending: Ending | undefined;
  /** Bytes of the response that were handed over and wait for the client. */
  readonly unsent: number;
  /** Ends stream or connection at once, so that the client sees the response cut off. */
  destroy(): void;
  /** Runs once when the response has been sent or the client is gone. */
  onEnd(callback: () => void): void;
}
