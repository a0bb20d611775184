import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, asAuthenticated, unauthorized } from './authenticator.ts';

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyExtendedKeyUsage = '2.5.29.37.0';

interface Identity {
  readonly user: UserInfo;
  /** Wall-clock milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Users by their client certificate (spec section 5.2): the common name, and each organization a group. Only the leaf
 * that the TLS layer verified is looked at, never what else the client sent (CVE-2016-7075). What a certificate says
 * is read once for a connection; whether it is still valid is asked for every request.
 */
export function clientCertificateAuthenticator(dialect: Dialect, clock: Clock): Authenticator {
  const identities = new WeakMap<X509Certificate, Identity>();
  return {
    authenticate({ peer: { certificate, certificateError } }) {
      if (certificateError !== undefined) throw unauthorized(certificateError);
      if (!certificate) return undefined;
      let identity = identities.get(certificate);
      if (!identity) {
        identity = readIdentity(certificate, dialect);
        identities.set(certificate, identity);
      }
      const now = clock.now();
      if (now < identity.notBefore) throw unauthorized(new Error('client certificate is not valid yet'));
      if (now > identity.notAfter) throw unauthorized(new Error('client certificate has expired'));
      return identity.user;
    },
  };
}

function readIdentity(certificate: X509Certificate, dialect: Dialect): Identity {
  // Despite its name this is the list of extended key usages. Without that extension any use is allowed (RFC 5280).
  const uses: readonly string[] | undefined = certificate.keyUsage;
  if (uses && !uses.includes(clientAuth) && !uses.includes(anyExtendedKeyUsage)) {
    throw unauthorized(new Error('certificate is not for client authentication'));
  }
  const subject = certificate.toLegacyObject().subject;
  // The most specific one where there are several, as published servers read it.
  const username = attributeValues(subject?.CN).at(-1) ?? '';
  if (username === '') throw unauthorized(new Error('client certificate has no common name'));
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  return {
    user: asAuthenticated({
      username,
      uid: '',
      groups: attributeValues(subject?.O),
      extra: { [`authentication.${dialect.domain}/credential-id`]: [`X509SHA256=${fingerprint}`] },
    }),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

/** Values of a subject attribute: the runtime gives one as text, several as an array. */
const attributeValues = (value: unknown): readonly string[] => (value === undefined ? [] : [value].flat().map(String));
