import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { Random } from '../base/random.ts';
import type { Clock } from '../base/time/clock.ts';
import { type Authority, type CertificateUse, issueCertificate, issueSelfSigned, type Subject } from './certificate.ts';
import {
  coversHosts,
  ensureKeyPair,
  expiresWithin,
  type KeyPair,
  type KeyPairFiles,
  PkiFileError,
} from './key-pair-files.ts';

import { generateKey, keyToPem } from './keys.ts';
import { certificateToPem } from './pem.ts';

const dayMs = 24 * 60 * 60_000;
/** An authority is renewed with the same key and name while the certificates that it issued are still valid. */
const authorityMs = 10 * 365 * dayMs;
const certificateMs = 365 * dayMs;
/** Fraction of a certificate's lifetime after which it is due for renewal. */
const renewalFraction = 2 / 3;
/** A self-signed certificate is renewed late, because clients must then be configured with the new one. */
const selfSignedRenewalMs = 30 * dayMs;
/** Minimum time by which an authority must outlive the certificates that it issues. */
const authorityMarginMs = 30 * dayMs;
/** Tolerated clock skew of clients that are behind. */
const skewMs = 5 * 60_000;

export interface PkiContext {
  readonly clock: Clock;
  readonly random: Random;
}

/** The intended use of an issued certificate. */
interface CertificatePurpose {
  readonly subject: Subject;
  readonly use: Exclude<CertificateUse, 'authority'>;
  /** Host names and IP addresses, for `serverAuth`. */
  readonly hosts?: readonly string[];
}

/**
 * The certificate authority in those files, created on the first start and valid for ten years. The server's own
 * certificate is renewed early enough to outlive what it issues; one from elsewhere is used as it is. Throws a
 * PkiFileError if that one has expired.
 */
export function ensureAuthority(files: KeyPairFiles, commonName: string, context: PkiContext): KeyPair {
  const isOurs = (certificate: X509Certificate): boolean =>
    certificate.subject === `CN=${commonName}` && certificate.issuer === certificate.subject;
  return ensureKeyPair(files, {
    issue: (key) => issueAuthority(key, commonName, context),
    check(certificate) {
      if (!certificate.ca) throw new PkiFileError(files.certificate, 'is not the certificate of an authority');
      if (!isOurs(certificate) && expiresWithin(certificate, 0, context.clock)) {
        throw new PkiFileError(
          files.certificate,
          `is valid only from ${certificate.validFrom} to ${certificate.validTo}`,
        );
      }
    },
    needsReplacement: (certificate) =>
      isOurs(certificate) && expiresWithin(certificate, certificateMs + authorityMarginMs, context.clock),
  });
}

/**
 * A certificate in those files, issued by the authority for one year. A call renews it if a third of its lifetime is
 * left or a host is missing in it. Throws a PkiFileError if another authority issued it.
 */
export function ensureIssued(
  files: KeyPairFiles,
  authority: Authority,
  purpose: CertificatePurpose,
  context: PkiContext,
): KeyPair {
  return ensureKeyPair(files, {
    issue: (key) => issueCertificate(authority, leaf(key, purpose, context), context.random),
    check(certificate) {
      if (!certificate.verify(authority.certificate.publicKey)) {
        const remedy = 'remove it to have a new one made';
        throw new PkiFileError(files.certificate, `was not issued by the authority that is in use now: ${remedy}`);
      }
    },
    needsReplacement: (certificate) =>
      isNotYetValid(certificate, context) ||
      // A certificate that ends with its authority cannot be extended by renewal.
      (isDueForRenewal(certificate, context) && endOf(certificate) < endOf(authority.certificate)) ||
      !coversHosts(certificate, purpose.hosts ?? []),
  });
}

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);

const isNotYetValid = ({ validFrom }: X509Certificate, { clock }: PkiContext): boolean =>
  Date.parse(validFrom) > clock.now();

/** Whether the certificate is due for renewal. */
export function isDueForRenewal(certificate: X509Certificate, { clock }: PkiContext): boolean {
  const begin = Date.parse(certificate.validFrom);
  return clock.now() >= begin + renewalFraction * (endOf(certificate) - begin);
}

/** How long before an authority expires operators are warned: everyone who trusts it needs its successor first. */
const authorityWarningMs = 365 * dayMs;

/** Whether the authority expires soon enough that an operator should be warned. */
export const endsSoon = (
  { certificate }: Pick<KeyPair, 'certificate'>,
  { clock }: Pick<PkiContext, 'clock'>,
): boolean => expiresWithin(certificate, authorityWarningMs, clock);

/**
 * A self-signed certificate in those files, created if there is none; clients must be configured to trust it. A
 * certificate from elsewhere is used as it is.
 */
export function ensureSelfSigned(files: KeyPairFiles, purpose: CertificatePurpose, context: PkiContext): KeyPair {
  return ensureKeyPair(files, {
    issue: (key) => issueSelfSigned(leaf(key, purpose, context), key, context.random),
    needsReplacement: (certificate) =>
      certificate.subject === `CN=${purpose.subject.commonName}` &&
      certificate.issuer === certificate.subject &&
      (expiresWithin(certificate, selfSignedRenewalMs, context.clock) ||
        !coversHosts(certificate, purpose.hosts ?? [])),
  });
}

/** A certificate authority that is not stored in files, valid for ten years. */
export function makeAuthority(commonName: string, context: PkiContext): KeyPair {
  const key = generateKey();
  return keyPairOf(issueAuthority(key, commonName, context), key);
}

/** A certificate issued by the authority, not stored in files, valid for one year. */
export function makeIssued(authority: Authority, purpose: CertificatePurpose, context: PkiContext): KeyPair {
  const key = generateKey();
  return keyPairOf(issueCertificate(authority, leaf(key, purpose, context), context.random), key);
}

/** A self-signed certificate, not stored in files, valid for one year. */
export function makeSelfSigned(purpose: CertificatePurpose, context: PkiContext): KeyPair {
  const key = generateKey();
  return keyPairOf(issueSelfSigned(leaf(key, purpose, context), key, context.random), key);
}

const keyPairOf = (certificate: X509Certificate, privateKey: KeyObject): KeyPair => ({
  certificate,
  privateKey,
  certificatePem: certificateToPem(certificate),
  keyPem: keyToPem(privateKey),
});

const issueAuthority = (key: KeyObject, commonName: string, context: PkiContext): X509Certificate =>
  issueSelfSigned(
    {
      subject: { commonName },
      publicKey: createPublicKey(key),
      uses: ['authority'],
      ...validity(authorityMs, context),
    },
    key,
    context.random,
  );

const leaf = (key: KeyObject, purpose: CertificatePurpose, context: PkiContext) => ({
  subject: purpose.subject,
  publicKey: createPublicKey(key),
  uses: [purpose.use],
  ...(purpose.hosts && { hosts: purpose.hosts }),
  ...validity(certificateMs, context),
});

const validity = (lengthMs: number, { clock }: PkiContext) => ({
  notBefore: clock.now() - skewMs,
  notAfter: clock.now() + lengthMs,
});
