import { RE2JS } from 're2js';
import type { Random } from '../../base/random.ts';
import type { Exchange } from '../../http/exchange.ts';
import { assignAuditId } from './observe/audit-id.ts';

/**
 * CORS (Fetch standard, section 3.2): pages of allowed origins may read answers to requests with the user's
 * credentials. Headers and values are those of kube-apiserver.
 */
const allowed = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
} as const;

/** RE2 patterns, so that origins sent by clients are matched in linear time. Throws an Error for an invalid pattern. */
export const compileOrigins = (patterns: readonly string[]): readonly RE2JS[] =>
  patterns.map((pattern) => {
    try {
      return RE2JS.compile(pattern);
    } catch (error) {
      throw new Error(`${JSON.stringify(pattern)}: ${error instanceof Error ? error.message : error}`);
    }
  });

/** Returns a test whether any pattern matches a part of the origin. */
export function originTest(patterns: readonly string[]): (origin: string) => boolean {
  const compiled = compileOrigins(patterns);
  return (origin) => isSerialized(origin) && compiled.some((each) => each.matcher(origin).find());
}

/**
 * Answers preflight requests of allowed origins before authentication, since they carry no credentials. Other requests
 * of these origins get the headers on every answer. Requests of other origins are served without the headers, and the
 * browser keeps the answer from the page.
 */
export function allowOrigins(
  allows: (origin: string) => boolean,
  { handle, random }: { readonly handle: (exchange: Exchange) => void; readonly random: Random },
): (exchange: Exchange) => void {
  return (exchange) => {
    const [origin] = exchange.headerLines('origin');
    if (origin === undefined || !allows(origin)) return handle(exchange);
    exchange.setHeader('access-control-allow-origin', origin);
    for (const [name, value] of Object.entries(allowed)) exchange.setHeader(name, value);
    if (exchange.method !== 'OPTIONS') return handle(exchange);
    assignAuditId(exchange, random);
    exchange.respond(204, {});
  };
}

/** True if the value is safe to echo: characters that can occur in one origin or several (RFC 6454 section 7.1). */
const isSerialized = (origin: string): boolean => /^[\x20-\x7e]+$/.test(origin);
