import { credentialHeaders, isImpersonationHeader, webSocketProtocolHeader } from '../../../authn/identity-headers.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { HeaderLines } from '../../../outbound/backend/backend-request.ts';

/** Of one connection (RFC 9110 section 7.6.1), or made anew for the next. */
const ofConnection: ReadonlySet<string> = new Set([
  ...['connection', 'expect', 'http2-settings', 'keep-alive', 'proxy-authenticate', 'proxy-authorization'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/**
 * Browsers send cookies to all that is behind one server, whoever's it is: a cookie of one pod would come to the next, and a pod
 * could set one for the API.
 */
const isCookie = (name: string): boolean => name === 'cookie' || name === 'cookie2';

/** Under the conventional names too, should they not be hidden. */
const isCredential = credentialHeaders(undefined);

/** What is told to the server behind of the place that it is asked through. */
export interface ForwardedFrom {
  /** Path that the client asked for, up to the part that is the server's. */
  readonly prefix: string;
  /** Path of the request to the server. */
  readonly path: string;
}

interface ForwardOptions {
  /** Value of the header `Host`. */
  readonly host: string;
  /** Protocol to upgrade to; undefined if the request is an ordinary one. */
  readonly upgrade?: string | undefined;
  /** WebSocket sub-protocols that the client offers, without the one that is its token. */
  readonly protocols?: readonly string[];
  readonly from?: ForwardedFrom;
}

/** The header of a request that is passed on: without credentials of the client, and without what is of its connection. */
export function forwardedHeaders(
  exchange: Exchange,
  { host, upgrade, protocols = [], from }: ForwardOptions,
): HeaderLines {
  const listed = listedIn(exchange.headerLines('connection'));
  const isDropped = (name: string): boolean =>
    ofConnection.has(name) || listed.has(name) || isCookie(name) || isCredential(name) || isImpersonationHeader(name);
  const lines: Record<string, readonly string[]> = {};
  for (const name of exchange.headerNames()) {
    if (name !== 'host' && !name.startsWith(':') && !isDropped(name)) lines[name] = exchange.headerLines(name);
  }
  lines['host'] = [host];
  const hops = [...(lines['x-forwarded-for'] ?? []), exchange.peer.address].filter((hop) => hop !== '');
  if (hops.length > 0) lines['x-forwarded-for'] = [hops.join(', ')];
  if (from) {
    lines['x-forwarded-uri'] = [`${from.prefix}${from.path}`];
    lines['x-forwarded-host'] = [exchange.header('host') ?? ''];
    lines['x-forwarded-proto'] = ['https'];
  }
  if (upgrade !== undefined) {
    lines['connection'] = ['Upgrade'];
    lines['upgrade'] = [upgrade];
    if (protocols.length > 0) lines[webSocketProtocolHeader] = [protocols.join(', ')];
  }
  return lines;
}

/** Set by this server for every answer, or by none for an API. */
const ownAnswerHeaders: ReadonlySet<string> = new Set([
  'audit-id',
  'set-cookie',
  'set-cookie2',
  'x-content-type-options',
]);

/** The header of an answer that is passed on. */
export function answeredHeaders(headers: HeaderLines): Record<string, string | readonly string[]> {
  const listed = listedIn(headers['connection'] ?? []);
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !ofConnection.has(name) && !listed.has(name) && !ownAnswerHeaders.has(name),
    ),
  );
}

const listedIn = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(',').map((each) => each.trim().toLowerCase())));

/**
 * A redirect within the server behind, as seen by the client: below the path that leads to that server. One to another server
 * stays as it is; it is the client that follows it.
 */
export function answeredLocation(location: string, origin: string, { prefix, path }: ForwardedFrom): string {
  const base = `${origin}${path === '' ? '/' : path}`;
  if (!URL.canParse(location, base)) return location;
  const url = new URL(location, base);
  if (url.origin !== new URL(origin).origin) return location;
  const own = `${url.pathname}${url.search}${url.hash}`;
  return url.pathname.startsWith(prefix) ? own : `${prefix}${own}`;
}
