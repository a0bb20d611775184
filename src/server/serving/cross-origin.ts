import { RE2JS } from 're2js';
import type { Random } from '../../base/random.ts';
import type { Exchange } from '../../http/exchange.ts';
import { assignAuditId } from './observe/audit-id.ts';

/**
 * Cross-origin requests of browsers (Fetch standard, section 3.2): pages of some origins may read answers, with the
 * credentials of whoever looks at them. The headers and their values are the published ones.
 */
const allowed = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
} as const;

/** Patterns of RE2: what a client sends is matched in linear time. Throws an Error for what is none. */
export const compileOrigins = (patterns: readonly string[]): readonly RE2JS[] =>
  patterns.map((pattern) => {
    try {
      return RE2JS.compile(pattern);
    } catch (error) {
      throw new Error(`${JSON.stringify(pattern)}: ${error instanceof Error ? error.message : error}`);
    }
  });

/** Tells of an origin whether a pattern is found in it. */
export function originTest(patterns: readonly string[]): (origin: string) => boolean {
  const compiled = compileOrigins(patterns);
  return (origin) => isSerialized(origin) && compiled.some((each) => each.matcher(origin).find());
}

/**
 * Answers preflight requests of the origins that are allowed, before anybody is asked who they are: they have no
 * credentials. Other requests of these origins get the headers too, whatever the answer; those of others are served as
 * ever, and the browser keeps the answer from the page.
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

/** What can be sent back as it is: characters that an origin, or several, can have (RFC 6454 section 7.1). */
const isSerialized = (origin: string): boolean => /^[\x20-\x7e]+$/.test(origin);
