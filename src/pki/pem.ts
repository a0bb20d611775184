import { X509Certificate } from 'node:crypto';

/** RFC 7468 blocks of certificates; text between them is allowed and means nothing. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in its order. Throws where a block is no certificate; none at all gives []. */
export function certificatesFromPem(pem: string): X509Certificate[] {
  return (pem.match(certificateBlock) ?? []).map((block) => new X509Certificate(block));
}

/** One certificate as a PEM block with a line break at its end. */
export const certificateToPem = (certificate: X509Certificate): string => certificate.toString();
