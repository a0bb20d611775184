import { isUtf8 } from 'node:buffer';
import { dialects } from '../dialect/dialects.ts';
import { StatusError } from '../meta/status-error.ts';
import type { FinalAuthenticator } from './anonymous.ts';
import { type Authenticator, type Credentials, type TokenAuthenticator, unauthorized } from './authenticator.ts';
import { tokenUser } from './bearer.ts';
import { webSocketProtocolHeader } from './identity-headers.ts';
import { decodeBase64url } from './jwt.ts';

/**
 * Web pages cannot set headers on a WebSocket, so the token comes as an offered sub-protocol, in base64url after a
 * well-known prefix. The prefixes of all dialects are recognised in each, so that a token is never taken for the name
 * of a protocol and echoed.
 */
const tokenPrefixes: readonly string[] = Object.values(dialects).map(
  (dialect) => `base64url.bearer.${dialect.group('authorization')}.`,
);

/** The offered sub-protocols in order of preference, and the tokens among them. */
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

/** Authenticates WebSocket requests by the token among their sub-protocols; ignores all other requests. */
export function webSocketTokenAuthenticator(tokens: TokenAuthenticator, audiences: readonly string[]): Authenticator {
  return {
    authenticate(credentials) {
      if (!credentials.webSocket) return undefined;
      const token = readToken(credentials);
      return token === undefined ? undefined : tokenUser(tokens, token, audiences, credentials);
    },
  };
}

/** Throws Unauthorized if the token is malformed, because a request with a credential must never become anonymous. */
function readToken(credentials: Credentials): string | undefined {
  const { protocols, tokens } = offeredProtocols(credentials.headerLines(webSocketProtocolHeader));
  const [encoded, ...more] = tokens;
  if (encoded === undefined) return undefined;
  if (more.length > 0) throw unauthorized(new Error('several sub-protocols are tokens'));
  // As in kube-apiserver: browsers require that an offered protocol is selected, and that must not be the token.
  if (protocols.length === 0) throw unauthorized(new Error('no sub-protocol but the token is offered'));
  const bytes = decodeBase64url(encoded);
  if (!bytes || bytes.length === 0 || !isUtf8(bytes)) {
    throw unauthorized(new Error('the token among the sub-protocols is not base64url of UTF-8'));
  }
  return bytes.toString();
}

interface OriginOptions {
  /** Authenticates by credentials that the page itself must know, that is bearer tokens. */
  readonly tokens: Authenticator;
  /** Origins whose pages may use credentials that the browser adds by itself (`--cors-allowed-origins`). */
  readonly allowsOrigin: (origin: string) => boolean;
}

/**
 * Protects against cross-site WebSocket hijacking. A browser lets any page open a WebSocket to any host, presents the
 * user's client certificate, and lets the page read the response, since CORS does not apply (RFC 6455 section 10.2). So
 * for a page of another origin only its token counts, neither the client certificate nor the network. Other clients
 * send no `Origin`, or the server's own, and are authenticated as usual.
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
