import { gzip } from 'node:zlib';
import type { Exchange, Headers } from './exchange.ts';
import { acceptsGzip, gzipLevel, gzipWhole } from './gzip.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** gzip where the client takes it, and the method reads (spec section 4.3). */
  readonly compress?: boolean;
}

/** Longer bodies are compressed off the main thread. */
const syncGzipBytesMax = 64 * 1024;

/** Answers with a body that is there as a whole. A promise only where it has to be compressed first, and takes long. */
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
      // Meanwhile the deadline of the request may have passed, and been answered.
      if (exchange.responded) resolve();
      else if (error) resolve(exchange.respond(status, headers, body));
      else resolve(exchange.respond(status, { ...headers, ...gzipHeaders }, compressed));
    });
  });
}

/** Whether an answer to this request is to be compressed. */
export function wantsGzip(exchange: Exchange): boolean {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return false;
  const header = exchange.header('accept-encoding');
  return header !== undefined && acceptsGzip(header);
}

export const gzipHeaders: Headers = { 'content-encoding': 'gzip', vary: 'accept-encoding' };
