import { isUtf8 } from 'node:buffer';
import { dialects } from '../dialect/dialects.ts';
import { StatusError } from '../meta/status-error.ts';
import type { FinalAuthenticator } from './anonymous.ts';
import { type Authenticator, type Credentials, type TokenAuthenticator, unauthorized } from './authenticator.ts';
import { tokenUser } from './bearer.ts';
import { webSocketProtocolHeader } from './identity-headers.ts';
import { decodeBase64url } from './jwt.ts';

/**
 * WebSockets are opened by pages that can send no header of their own: a token comes as one of the sub-protocols that are
 * offered, in base64url, behind a published prefix. Those of all dialects are known in each, so that no token is ever taken
 * for the name of a protocol, and sent back.
 */
const tokenPrefixes: readonly string[] = Object.values(dialects).map(
  (dialect) => `base64url.bearer.${dialect.group('authorization')}.`,
);

/** The sub-protocols that a request offers, best first, and the tokens among them. */
export function offeredProtocols(lines: readonly string[]): {
  readonly protocols: readonly string[];
  readonly tokens: readonly string[];
} {
  const [protocols, tokens]: [string[], string[]] = [[], []];
  for (const offered of lines.flatMap((line) => line.split(','))) {
    const name = offered.trim();
    const prefix = tokenPrefixes.find((each) => name.startsWith(each));
    if (prefix !== undefined) tokens.push(name.slice(prefix.length));
    else if (name !== '') protocols.push(name);
  }
  return { protocols, tokens };
}

/** Users by the token among the sub-protocols of a WebSocket. Other requests have none, whatever they offer. */
export function webSocketTokenAuthenticator(tokens: TokenAuthenticator, audiences: readonly string[]): Authenticator {
  return {
    authenticate(credentials) {
      if (!credentials.webSocket) return undefined;
      const token = readToken(credentials);
      return token === undefined ? undefined : tokenUser(tokens, token, audiences, credentials);
    },
  };
}

/** Throws Unauthorized where there is one that cannot be read: who shows a token is never anonymous. */
function readToken(credentials: Credentials): string | undefined {
  const { protocols, tokens } = offeredProtocols(credentials.headerLines(webSocketProtocolHeader));
  const [encoded, ...more] = tokens;
  if (encoded === undefined) return undefined;
  if (more.length > 0) throw unauthorized(new Error('several sub-protocols are tokens'));
  // As published: a browser wants one of what it offered sent back, and that must not be the token.
  if (protocols.length === 0) throw unauthorized(new Error('no sub-protocol but the token is offered'));
  const bytes = decodeBase64url(encoded);
  if (!bytes || bytes.length === 0 || !isUtf8(bytes)) {
    throw unauthorized(new Error('the token among the sub-protocols is not base64url of UTF-8'));
  }
  return bytes.toString();
}

interface OriginOptions {
  /** Users by what a page must know to show it. */
  readonly tokens: Authenticator;
  /** Origins whose pages may use what browsers show by themselves (`--cors-allowed-origins`). */
  readonly allowsOrigin: (origin: string) => boolean;
}

/**
 * A browser lets any page open a WebSocket anywhere, shows the client certificate of whoever looks at the page, and lets the
 * page read what comes: the rules for cross-origin requests do not hold for WebSockets (RFC 6455 section 10.2). So a page of
 * another origin is who its token says, and nobody without: neither the certificate nor the network it comes from counts.
 * What is no browser sends no `Origin`, or that of the server, and is asked as ever.
 */
export function withOrigins(
  authenticator: FinalAuthenticator,
  { tokens, allowsOrigin }: OriginOptions,
): FinalAuthenticator {
  const known = <User>(user: User | undefined): User => {
    if (user === undefined) throw foreignOrigin();
    return user;
  };
  return {
    authenticate(credentials) {
      if (!credentials.webSocket) return authenticator.authenticate(credentials);
      const origins = credentials.headerLines('origin');
      const [origin] = origins;
      const isOwn = origin?.toLowerCase() === `https://${credentials.header('host')?.toLowerCase()}`;
      if (
        origin === undefined ||
        (origins.length === 1 && (isOwn || (!origin.includes(' ') && allowsOrigin(origin))))
      ) {
        return authenticator.authenticate(credentials);
      }
      const user = tokens.authenticate(credentials);
      return user instanceof Promise ? user.then(known) : known(user);
    },
  };
}

const foreignOrigin = (): StatusError =>
  new StatusError('Forbidden', 'a page of another origin needs a bearer token to open a WebSocket');
