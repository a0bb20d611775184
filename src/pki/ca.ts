import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
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
/** An authority is renewed, for the same key and name, while the certificates that it issued are still good. */
const authorityMs = 10 * 365 * dayMs;
const certificateMs = 365 * dayMs;
/** Of the life of a certificate; from then on it is to be renewed. */
const renewalPart = 2 / 3;
/** A certificate that vouches for itself is renewed late: clients that were given it need the new one. */
const selfSignedRenewalMs = 30 * dayMs;
/** What an authority must outlive the certificates by that it issues. */
const authorityMarginMs = 30 * dayMs;
/** Clocks of clients may be behind by this much. */
const skewMs = 5 * 60_000;

export interface PkiContext {
  readonly clock: Clock;
  readonly random: Random;
}

/** What an issued certificate is for. */
interface CertificatePurpose {
  readonly subject: Subject;
  readonly use: Exclude<CertificateUse, 'authority'>;
  /** Host names and addresses, with `serverAuth`. */
  readonly hosts?: readonly string[];
}

/**
 * The authority in those files, made on the first start: ten years. Its own certificate is renewed while it outlives
 * what it issues; one that someone else made is used as it is, and refused once it has expired.
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
 * A certificate that the authority issued, in those files: one year, renewed when a third of that is left or a host is new.
 * Called again, it renews what is due by then.
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
      // One that ends with its authority would not be any longer.
      (isDue(certificate, context) && endOf(certificate) < endOf(authority.certificate)) ||
      !coversHosts(certificate, purpose.hosts ?? []),
  });
}

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);

const isNotYetValid = ({ validFrom }: X509Certificate, { clock }: PkiContext): boolean =>
  Date.parse(validFrom) > clock.now();

/** Whether so much of its life is over that a certificate is to be renewed. */
export function isDue(certificate: X509Certificate, { clock }: PkiContext): boolean {
  const begin = Date.parse(certificate.validFrom);
  return clock.now() >= begin + renewalPart * (endOf(certificate) - begin);
}

/** Authorities that end within this time should be replaced in good time: all who trust them must learn of the next. */
const authorityWarningMs = 365 * dayMs;

/** Whether the authority ends so soon that somebody should know. */
export const endsSoon = (
  { certificate }: Pick<KeyPair, 'certificate'>,
  { clock }: Pick<PkiContext, 'clock'>,
): boolean => expiresWithin(certificate, authorityWarningMs, clock);

/**
 * A certificate in those files that nobody vouches for, where no pair was put there: clients must be told to trust it.
 * A pair that someone put there is used as it is.
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

/** An authority that is in no file: ten years. */
export function makeAuthority(commonName: string, context: PkiContext): KeyPair {
  const key = generateKey();
  return keyPairOf(issueAuthority(key, commonName, context), key);
}

/** A certificate that the authority issued, in no file: one year. */
export function makeIssued(authority: Authority, purpose: CertificatePurpose, context: PkiContext): KeyPair {
  const key = generateKey();
  return keyPairOf(issueCertificate(authority, leaf(key, purpose, context), context.random), key);
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
