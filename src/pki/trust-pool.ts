import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../base/time/clock.ts';
import { findPaths, type PathValidity } from './certification-path.ts';
import { certificatesFromPem, certificateToPem } from './pem.ts';

/** Why a certificate is not trusted. The same object on every call until the pool changes. */
export class UntrustedCertificate extends Error {
  constructor(problem: string) {
    super(`the client certificate is not trusted: ${problem}`);
    this.name = 'UntrustedCertificate';
  }
}

/** Cached result for a certificate, valid until the pool is replaced. */
interface Verdict {
  readonly validities: readonly PathValidity[];
  readonly refusal: UntrustedCertificate;
}

/**
 * Trust anchors for the clients of one authenticator (spec section 5.2). The listener verifies against the anchors of
 * all pools together, and may have done so long ago for a resumed session or a long-lived connection. So each pool
 * decides for itself, at call time, whether a certificate leads to one of its anchors. Results are cached for the
 * lifetime of the certificate object, which is that of the connection; further calls cost one look-up.
 */
export class TrustPool {
  readonly #clock: Clock;
  #anchors: readonly X509Certificate[];
  #verdicts = new WeakMap<X509Certificate, Verdict>();

  /** Throws if the text contains no certificate or a damaged one. */
  constructor(pem: string, clock: Clock) {
    this.#clock = clock;
    this.#anchors = readAnchors(pem);
  }

  /** Replaces the anchors, also for open connections. Throws as the constructor does; the old anchors then stay. */
  replace(pem: string): void {
    this.#anchors = readAnchors(pem);
    this.#verdicts = new WeakMap();
  }

  /** One PEM block per anchor. */
  get authorities(): readonly string[] {
    return this.#anchors.map(certificateToPem);
  }

  /**
   * Checks that the certificate is currently valid for client authentication and signed by an anchor of the pool,
   * directly or through intermediates that the client sent.
   *
   * @param certificate from the connection: verified by OpenSSL against the anchors of this pool and possibly others.
   * @throws UntrustedCertificate
   */
  verify(certificate: X509Certificate): void {
    const verdict = this.#verdicts.get(certificate) ?? this.#judge(certificate);
    const now = this.#clock.now();
    for (const { notBefore, notAfter } of verdict.validities) if (now >= notBefore && now <= notAfter) return;
    throw verdict.refusal;
  }

  #judge(certificate: X509Certificate): Verdict {
    const { validities, problem } = findPaths(certificate, this.#anchors);
    const outdated = 'it, or an authority above it, has expired or is not valid yet';
    const refusal = new UntrustedCertificate(validities.length > 0 ? outdated : problem);
    const verdict = { validities, refusal };
    this.#verdicts.set(certificate, verdict);
    return verdict;
  }
}

function readAnchors(pem: string): readonly X509Certificate[] {
  const anchors = certificatesFromPem(pem);
  if (anchors.length === 0) throw new RangeError('it contains no CERTIFICATE PEM block');
  return anchors;
}

/** The anchors of all pools without duplicates, for the listener (`TlsMaterial.ca`). */
export const authoritiesOf = (pools: readonly TrustPool[]): readonly string[] => [
  ...new Set(pools.flatMap(({ authorities }) => authorities)),
];
