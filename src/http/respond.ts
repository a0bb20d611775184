import { gzip } from 'node:zlib';
import type { Exchange, Headers } from './exchange.ts';
import { acceptsGzip, gzipLevel, gzipWhole } from './gzip.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** gzip if the client accepts it and the request is a read (spec section 4.3). */
  readonly compress?: boolean;
}

/** Longer bodies are compressed off the main thread. */
const syncGzipBytesMax = 64 * 1024;

/** Responds with a complete body. Returns a promise only if the body must be compressed asynchronously first. */
export function sendBytes(exchange: Exchange, answer: Answer): void | Promise<void> {
  const { status, contentType, body, compress } = answer;
  const headers = { 'content-type': contentType };
  if (!compress || !wantsGzip(exchange)) exchange.respond(status, headers, body);
  else if (body.length <= syncGzipBytesMax) exchange.respond(status, { ...headers, ...gzipHeaders }, gzipWhole(body));
  else return sendCompressed(exchange, status, headers, body);
}

function sendCompressed(exchange: Exchange, status: number, headers: Headers, body: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    gzip(body, { level: gzipLevel }, (error, compressed) => {
      // The request may have timed out and been answered meanwhile.
      if (exchange.responded) resolve();
      else if (error) resolve(exchange.respond(status, headers, body));
      else resolve(exchange.respond(status, { ...headers, ...gzipHeaders }, compressed));
    });
  });
}

/** Whether the response to this request should be compressed. */
export function wantsGzip(exchange: Exchange): boolean {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return false;
  const header = exchange.header('accept-encoding');
  return header !== undefined && acceptsGzip(header);
}

export const gzipHeaders: Headers = { 'content-encoding': 'gzip', vary: 'accept-encoding' };
