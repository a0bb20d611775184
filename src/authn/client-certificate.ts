import type { X509Certificate } from 'node:crypto';
import type { HistogramSeries, Metrics } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, asAuthenticated, unauthorized } from './authenticator.ts';
import { verifiedCertificate } from './verified-certificate.ts';

/** The lifetime left to certificates, observed for each request. */
export interface CertificateLifetimes {
  readonly clock: Clock;
  readonly seconds: HistogramSeries;
}

interface ClientCertificateOptions {
  readonly dialect: Dialect;
  /** The authorities of `--client-ca-file`. */
  readonly pool: TrustPool;
  /** Default: not observed. */
  readonly lifetimes?: CertificateLifetimes;
}

/**
 * Authenticates client certificates (spec section 5.2): the common name is the user, each organization a group. Reads
 * only the leaf, never other certificates that the client sent (CVE-2016-7075). The user is read once per connection;
 * trust and validity are checked for every request.
 */
export function clientCertificateAuthenticator({ dialect, pool, lifetimes }: ClientCertificateOptions): Authenticator {
  const users = new WeakMap<X509Certificate, { readonly user: UserInfo; readonly untilMs: number }>();
  return {
    authenticate({ peer }) {
      const certificate = verifiedCertificate(peer, pool);
      if (!certificate) return undefined;
      let known = users.get(certificate);
      if (!known) {
        known = { user: readUser(certificate, dialect), untilMs: certificate.validToDate.getTime() };
        users.set(certificate, known);
      }
      lifetimes?.seconds.observe((known.untilMs - lifetimes.clock.now()) / 1000);
      return known.user;
    },
  };
}

export function certificateLifetimes(metrics: Metrics, clock: Clock): CertificateLifetimes {
  const [hour, day] = [3_600, 86_400];
  const seconds = metrics.histogram({
    name: 'apiserver_client_certificate_expiration_seconds',
    help: 'Lifetime left to the client certificate of a request.',
    labels: [],
    buckets: [
      ...[0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day],
      ...[30 * day, 90 * day, 180 * day, 360 * day],
    ],
  });
  return { clock, seconds: seconds.of({}) };
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
