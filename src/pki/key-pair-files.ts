import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createFile, replaceFile } from '../base/atomic-file.ts';
import { readWhole } from '../base/files.ts';
import { ipVersion } from '../base/ip-version.ts';
import type { Clock } from '../base/time/clock.ts';
import { certifies } from './certificate.ts';
import { generateKey, keyFromPem, keyToPem } from './keys.ts';
import { certificatesFromPem, certificateToPem } from './pem.ts';

/**
 * Key and certificate files that are created on the first start and kept. The order makes it safe to stop at any point
 * and to start twice concurrently: the complete key file appears before its certificate, a second process uses the
 * existing files, and renewal replaces only the certificate file, for the same key.
 */
export interface KeyPairFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface KeyPair {
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  /** The content of the file: the certificate and any chain after it. */
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** An unusable file. Nothing was changed; the message names the file and says how to fix it. */
export class PkiFileError extends Error {
  readonly file: string;

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`${file} ${problem}`, options);
    this.name = 'PkiFileError';
    this.file = file;
  }
}

/** How a certificate is issued and when it is replaced. */
interface CertificatePlan {
  readonly issue: (key: KeyObject) => X509Certificate;
  /** Throws a PkiFileError if the certificate is unusable and must not be replaced. */
  readonly check?: (certificate: X509Certificate, key: KeyObject) => void;
  readonly needsReplacement: (certificate: X509Certificate, key: KeyObject) => boolean;
}

/** Reads the pair in those files; creates missing files and renews an outdated certificate. */
export function ensureKeyPair(files: KeyPairFiles, plan: CertificatePlan): KeyPair {
  if (existsSync(files.certificate) && !existsSync(files.key)) {
    throw new PkiFileError(files.key, `is missing although ${files.certificate} is there: put it back, or remove both`);
  }
  const privateKey = ensureKey(files.key);
  if (!existsSync(files.certificate)) createFile(files.certificate, certificateToPem(plan.issue(privateKey)));
  const found = readKeyPair(files);
  plan.check?.(found.certificate, found.privateKey);
  if (!plan.needsReplacement(found.certificate, found.privateKey)) return found;
  replaceFile(files.certificate, certificateToPem(plan.issue(privateKey)));
  return readKeyPair(files);
}

/** The private key in that file, created if the file does not exist. */
export function ensureKey(file: string): KeyObject {
  if (!existsSync(file)) createFile(file, keyToPem(generateKey()));
  return parseKey(readPem(file), file);
}

/** Reads a pair and checks that the key matches the first certificate of the file. Throws a PkiFileError. */
export const readKeyPair = (files: KeyPairFiles): KeyPair =>
  parseKeyPair({ certificate: readPem(files.certificate), key: readPem(files.key) }, files);

/** Like `readKeyPair`, from PEM texts; `files` are the names used in errors. */
export function parseKeyPair(pem: KeyPairFiles, files: KeyPairFiles): KeyPair {
  const { certificate: certificatePem, key: keyPem } = pem;
  const [certificate] = parseCertificates(certificatePem, files.certificate);
  const privateKey = parseKey(keyPem, files.key);
  if (!certificate || !certifies(certificate, privateKey)) {
    throw new PkiFileError(files.certificate, `does not belong to the key in ${files.key}: put back the one that does`);
  }
  return { certificate, privateKey, certificatePem, keyPem };
}

/** The certificates of a file. Throws a PkiFileError if there are none. */
export function readCertificates(file: string): X509Certificate[] {
  return parseCertificates(readPem(file), file);
}

function readPem(file: string): string {
  try {
    return readWhole(file).toString();
  } catch (error) {
    throw new PkiFileError(file, `cannot be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

function parseCertificates(pem: string, file: string): X509Certificate[] {
  let certificates: X509Certificate[];
  try {
    certificates = certificatesFromPem(pem);
  } catch (cause) {
    throw new PkiFileError(file, 'has a damaged certificate: put back a good copy', { cause });
  }
  if (certificates.length === 0) throw new PkiFileError(file, 'has no PEM block of a CERTIFICATE');
  return certificates;
}

function parseKey(pem: string, file: string): KeyObject {
  try {
    const key = keyFromPem(pem);
    // Fails for key types that no certificate can hold.
    createPublicKey(key);
    return key;
  } catch (cause) {
    throw new PkiFileError(file, 'is not a private key in PEM without a passphrase: put back a good copy', { cause });
  }
}

/** Whether the certificate is not yet valid or expires in less than `leftMs`. */
export const expiresWithin = (certificate: X509Certificate, leftMs: number, clock: Clock): boolean =>
  Date.parse(certificate.validFrom) > clock.now() || Date.parse(certificate.validTo) - clock.now() < leftMs;

/** Whether the subject alternative names of the certificate cover every host. */
export const coversHosts = (certificate: X509Certificate, hosts: readonly string[]): boolean =>
  hosts.every(
    (host) => (ipVersion(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  );
