import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { findPaths, type PathValidity } from './certification-path.ts';
import { certificatesFromPem, certificateToPem } from './pem.ts';

/** Why a certificate is not trusted. The same object each time, for as long as nothing changes. */
export class UntrustedCertificate extends Error {
  constructor(problem: string) {
    super(`the client certificate is not trusted: ${problem}`);
    this.name = 'UntrustedCertificate';
  }
}

/** What is known of a certificate until the pool is replaced. */
interface Verdict {
  readonly validities: readonly PathValidity[];
  readonly refusal: UntrustedCertificate;
}

/**
 * Authorities that vouch for the clients of one authenticator (spec section 5.2). The listener verifies against those of
 * all pools together, and a resumed session or a connection that is open for long was verified long ago: so each pool
 * tells for itself, now, whether a certificate leads to one of its own. What it found is kept for the life of the
 * certificate's object, which is that of the connection; asking again costs one look-up.
 */
export class TrustPool {
  readonly #clock: Clock;
  #anchors: readonly X509Certificate[];
  #verdicts = new WeakMap<X509Certificate, Verdict>();

  /** Throws where the text has no certificate, or a damaged one. */
  constructor(pem: string, clock: Clock) {
    this.#clock = clock;
    this.#anchors = readAnchors(pem);
  }

  /** Trusts other authorities from now on, on open connections too. Throws as the constructor does; the old ones stay. */
  replace(pem: string): void {
    this.#anchors = readAnchors(pem);
    this.#verdicts = new WeakMap();
  }

  /** One PEM block for each authority. */
  get authorities(): readonly string[] {
    return this.#anchors.map(certificateToPem);
  }

  /**
   * Passes where the certificate is signed, for use by clients and now, by an authority of the pool: directly, or through
   * those that the client sent with it.
   *
   * @param certificate as the connection has it: verified by OpenSSL against this pool's authorities and maybe others.
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
  if (anchors.length === 0) throw new RangeError('there is no PEM block of a CERTIFICATE in it');
  return anchors;
}

/** The authorities of all pools, for the listener (`TlsMaterial.ca`), each once. */
export const authoritiesOf = (pools: readonly TrustPool[]): readonly string[] => [
  ...new Set(pools.flatMap(({ authorities }) => authorities)),
];
