import type { X509Certificate } from 'node:crypto';
import { decodeHeaderText } from '../base/header-text.ts';
import type { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, type Credentials, unauthorized } from './authenticator.ts';
import { commonName } from './client-certificate.ts';
import { extraKey } from './header-decoding.ts';
import type { RequestHeaderNames } from './identity-headers.ts';
import { verifiedCertificate } from './verified-certificate.ts';

interface RequestHeaderOptions {
  /** The authorities of `--requestheader-client-ca-file`, which issue to proxies and not to users. */
  readonly pool: TrustPool;
  /** Common names of trusted proxies (`--requestheader-allowed-names`); empty: every proxy that the pool trusts. */
  readonly allowedNames: readonly string[];
  readonly names: RequestHeaderNames;
}

/**
 * Authenticates users by the headers of an authenticating proxy (spec section 1). The proxy must present a client
 * certificate; from other clients the headers are ignored. Returns undefined if the proxy sends no user name.
 */
export function requestHeaderAuthenticator({ pool, allowedNames, names }: RequestHeaderOptions): Authenticator {
  const allowed = new Set(allowedNames);
  const proxies = new WeakMap<X509Certificate, string>();
  return {
    authenticate(credentials) {
      const certificate = verifiedCertificate(credentials.peer, pool);
      if (!certificate) return undefined;
      const proxy = proxies.get(certificate) ?? commonName(certificate);
      proxies.set(certificate, proxy);
      if (allowed.size > 0 && !allowed.has(proxy)) {
        throw unauthorized(new Error(`the proxy ${JSON.stringify(proxy)} is not one of those that are believed`));
      }
      return readUser(credentials, names);
    },
  };
}

function readUser(credentials: Credentials, names: RequestHeaderNames): UserInfo | undefined {
  const username = firstValue(credentials, names.username);
  if (username === '') return undefined;
  return {
    username,
    uid: firstValue(credentials, names.uid),
    groups: names.group.flatMap((name) => values(credentials, name)).filter((group) => group !== ''),
    extra: readExtra(credentials, names.extraPrefix),
  };
}

/** First line of the first header whose first line is not empty; '' if there is none. */
function firstValue(credentials: Credentials, names: readonly string[]): string {
  for (const name of names) {
    const [value = ''] = values(credentials, name);
    if (value !== '') return value;
  }
  return '';
}

function readExtra(credentials: Credentials, prefixes: readonly string[]): UserInfo['extra'] {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    for (const name of credentials.headerNames()) {
      if (!name.startsWith(prefix)) continue;
      const key = extraKey(name.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...values(credentials, name)]);
    }
  }
  return Object.fromEntries(extra);
}

const values = (credentials: Credentials, name: string): readonly string[] =>
  credentials.headerLines(name).map((line) => {
    const text = decodeHeaderText(line);
    if (text === undefined) throw unauthorized(new Error(`header ${name} of the proxy is not UTF-8`));
    return text;
  });
