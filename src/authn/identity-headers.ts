import { badRequest } from '../meta/status-error.ts';

/**
 * Headers in which an authenticating proxy passes the user. Names in lower case; keys of extra values follow a prefix.
 */
export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

/** Normalises configured names. Throws a TypeError as `headerName` does. */
export function requestHeaderNames(given: Partial<RequestHeaderNames>): RequestHeaderNames {
  const clean = (names: readonly string[] = []): readonly string[] => names.map(headerName);
  return {
    username: clean(given.username),
    uid: clean(given.uid),
    group: clean(given.group),
    extraPrefix: clean(given.extraPrefix),
  };
}

/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Normalises a name given in `--requestheader-*-headers`. Throws a TypeError if it is not a valid header name. */
export function headerName(given: string): string {
  const name = given.trim().toLowerCase();
  if (name === '') throw new TypeError('the name of a header is empty');
  if (!token.test(name)) throw new TypeError(`${JSON.stringify(given)} cannot be the name of a header`);
  return name;
}

/** The conventional names, which have no other use. */
const usual = requestHeaderNames({
  username: ['X-Remote-User'],
  uid: ['X-Remote-Uid'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
});

/** Carries the bearer token of a WebSocket opened by a web page. */
export const webSocketProtocolHeader = 'sec-websocket-protocol';

/** Whether a header name, in lower case, is in a set. */
type HeaderTest = (name: string) => boolean;

/**
 * Headers that carry credentials: the bearer token, WebSocket protocols, and the proxy headers under both the
 * conventional and the configured names. They are removed from the request after authentication
 * (`Exchange.hideHeaders`), so that nothing downstream trusts or forwards them.
 */
export function credentialHeaders(configured: RequestHeaderNames | undefined): HeaderTest {
  const all = configured ? [usual, configured] : [usual];
  const names = new Set([
    'authorization',
    webSocketProtocolHeader,
    ...all.flatMap(({ username, uid, group }) => [...username, ...uid, ...group]),
  ]);
  const prefixes = [...new Set(all.flatMap(({ extraPrefix }) => extraPrefix))];
  return (name) => {
    if (names.has(name)) return true;
    for (const prefix of prefixes) if (name.startsWith(prefix)) return true;
    return false;
  };
}

export const impersonationPrefix = 'impersonate-';

/** Headers that request impersonation: all with that prefix, known or not. */
export const isImpersonationHeader: HeaderTest = (name) => name.startsWith(impersonationPrefix);

/**
 * Rejects a request whose `Connection` header lists an identity header (RFC 9110 section 7.6.1). Listed headers are
 * hop-by-hop: a proxy may drop them, which would change the identity of the request or make it anonymous. HTTP/2 has no
 * such header (RFC 9113 section 8.2.2); such streams are rejected before they get here.
 */
export function refuseListedIdentity(connection: string | undefined, isCredential: HeaderTest): void {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return;
  for (const option of connection.split(',')) {
    const name = option.trim().toLowerCase();
    if (isCredential(name) || isImpersonationHeader(name)) {
      throw badRequest(`header Connection must not list ${JSON.stringify(name)}: it says who asks`);
    }
  }
}
