import type { X509Certificate } from 'node:crypto';
import type { Dialect } from '../dialect/dialect.ts';
import type { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, asAuthenticated, unauthorized } from './authenticator.ts';
import { verifiedCertificate } from './verified-certificate.ts';

interface ClientCertificateOptions {
  readonly dialect: Dialect;
  /** The authorities of `--client-ca-file`. */
  readonly pool: TrustPool;
}

/**
 * Authenticates client certificates (spec section 5.2): the common name is the user, each organization a group. Reads
 * only the leaf, never other certificates that the client sent (CVE-2016-7075). The user is read once per connection;
 * trust and validity are checked for every request.
 */
export function clientCertificateAuthenticator({ dialect, pool }: ClientCertificateOptions): Authenticator {
  const users = new WeakMap<X509Certificate, UserInfo>();
  return {
    authenticate({ peer }) {
      const certificate = verifiedCertificate(peer, pool);
      if (!certificate) return undefined;
      let user = users.get(certificate);
      if (!user) {
        user = readUser(certificate, dialect);
        users.set(certificate, user);
      }
      return user;
    },
  };
}

function readUser(certificate: X509Certificate, dialect: Dialect): UserInfo {
  const username = commonName(certificate);
  if (username === '') throw unauthorized(new Error('client certificate has no common name'));
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  return asAuthenticated({
    username,
    uid: '',
    groups: attributeValues(certificate.toLegacyObject().subject?.O),
    extra: { [`authentication.${dialect.domain}/credential-id`]: [`X509SHA256=${fingerprint}`] },
  });
}

/** The most specific common name if there are several, as kube-apiserver reads it; '' if there is none. */
export const commonName = (certificate: X509Certificate): string =>
  attributeValues(certificate.toLegacyObject().subject?.CN).at(-1) ?? '';

/** Values of a subject attribute: Node gives a string for one value and an array for several. */
const attributeValues = (value: unknown): readonly string[] => (value === undefined ? [] : [value].flat().map(String));
