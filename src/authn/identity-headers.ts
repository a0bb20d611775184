import { badRequest } from '../meta/status-error.ts';

/**
 * The headers by which an authenticating proxy tells for whom it asks. Names in lower case; the names of extra values
 * follow a prefix.
 */
export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

/** The names as they are given, made ready. Throws a TypeError as `headerName` does. */
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

/** A name as `--requestheader-*-headers` give it, made ready. Throws a TypeError where it cannot be that of a header. */
export function headerName(given: string): string {
  const name = given.trim().toLowerCase();
  if (name === '') throw new TypeError('the name of a header is empty');
  if (!token.test(name)) throw new TypeError(`${JSON.stringify(given)} cannot be the name of a header`);
  return name;
}

/** What proxies use when nothing else was agreed; nobody sends it for another reason. */
const usual = requestHeaderNames({
  username: ['X-Remote-User'],
  uid: ['X-Remote-Uid'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
});

/** Where a page shows its token that opens a WebSocket. */
export const webSocketProtocolHeader = 'sec-websocket-protocol';

/** Tells of the name of a header, in lower case, whether it is one of them. */
type HeaderTest = (name: string) => boolean;

/**
 * The headers that say who sends a request: the bearer token, and what a proxy tells, by the usual names and by those that
 * were configured. Once the sender is known they are taken off the request (`Exchange.hideHeaders`): nobody behind may
 * believe them, or pass them on.
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

/** The headers that say as whom the sender wants to be served; all of that prefix, known or not. */
export const isImpersonationHeader: HeaderTest = (name) => name.startsWith(impersonationPrefix);

/**
 * Refuses a request whose `Connection` header lists one that says who asks (RFC 9110 section 7.6.1). It is for one hop
 * only: a proxy in between may have dropped what it lists, or drop it yet, and then the request is somebody else's, or
 * everybody's. HTTP/2 has no such header (RFC 9113 section 8.2.2): the stream is refused before it gets here.
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
