import { X509Certificate } from 'node:crypto';

/** RFC 7468 certificate blocks; text between them is ignored. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in order; [] if there are none. Throws if a block is not a valid certificate. */
export function certificatesFromPem(pem: string): X509Certificate[] {
  return (pem.match(certificateBlock) ?? []).map((block) => new X509Certificate(block));
}

/** The certificate as a PEM block with a trailing newline. */
export const certificateToPem = (certificate: X509Certificate): string => certificate.toString();
