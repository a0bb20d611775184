import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { limits } from '../../base/limits.ts';

/** Header lines by their lower-case names. */
export type HeaderLines = Readonly<Record<string, readonly string[]>>;

interface BackendRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderLines;
  readonly body?: Readable | undefined;
  /** Ends the request and its answer; an upgraded connection is no longer its business. */
  readonly signal: AbortSignal;
}

export type BackendAnswer =
  | { readonly type: 'answer'; readonly status: number; readonly headers: HeaderLines; readonly body: Readable }
  /** The server speaks another protocol from now on. */
  | { readonly type: 'upgraded'; readonly headers: HeaderLines; readonly stream: Duplex };

/**
 * Sends one request on a connection of its own, by HTTP/1.1. The connection is closed with the answer, and if the request fails.
 * Nothing is followed or repeated.
 */
export function askBackend(connection: Duplex, request: BackendRequest): Promise<BackendAnswer> {
  const { method, target, headers, body, signal } = request;
  const { promise, resolve, reject } = Promise.withResolvers<BackendAnswer>();
  const chunked = body && !headers['content-length'] && { 'transfer-encoding': 'chunked' };
  // Not imported, see `http/websocket/upgrade-exchange.ts`.
  const sent = process.getBuiltinModule('node:http').request({
    ...{ method, path: target, headers: { ...sentLines(headers), ...chunked }, signal },
    ...{ createConnection: () => connection, maxHeaderSize: limits.backendHeaderBytesMax, insecureHTTPParser: false },
  });
  let isAnswered = false;
  const close = (): void => void connection.destroy();
  const fail = (error: unknown): void => {
    // The answer has an end of its own.
    if (isAnswered) return;
    close();
    reject(error);
  };
  sent.on('error', fail);
  sent.on('close', () => fail(new Error('EOF')));
  sent.on('response', (response) => {
    isAnswered = true;
    // Errors of the answer end its stream, which is all that its reader needs to know.
    response.on('error', () => {});
    response.once('close', close);
    resolve({ type: 'answer', status: response.statusCode ?? 0, headers: linesOf(response), body: response });
  });
  sent.on('upgrade', (response, stream, head) => {
    if (signal.aborted) return fail(signal.reason);
    isAnswered = true;
    if (head.length > 0) stream.unshift(head);
    resolve({ type: 'upgraded', headers: linesOf(response), stream });
  });
  if (!body) {
    sent.end();
    return promise;
  }
  body.on('error', fail);
  body.pipe(sent);
  return promise;
}

const sentLines = (headers: HeaderLines): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, lines]) => [name, lines.length === 1 ? (lines[0] as string) : [...lines]]),
  );

function linesOf({ headersDistinct }: IncomingMessage): HeaderLines {
  return Object.fromEntries(Object.entries(headersDistinct).map(([name, lines]) => [name, lines ?? []]));
}
