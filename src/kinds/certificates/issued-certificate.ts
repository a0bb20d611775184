import { X509Certificate } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import { type DecodedPem, decodePem } from '../../pki/decode-pem.ts';
import { readAll } from '../../pki/der.ts';
import { certificateBlocks, limitMessage } from './certificate-blocks.ts';

/**
 * What is wrong with the value of `status.certificate` (spec section 2.7), in base64; undefined if nothing is. A chain of
 * hundreds of certificates is checked in slices.
 */
export const issuedCertificateProblem = (value: string): Promise<string | undefined> => chainProblem(value).catch(limitMessage);

/** Rejects with a PemLimitError. */
async function chainProblem(value: string): Promise<string | undefined> {
  let blocks = 0;
  for await (const block of certificateBlocks(Buffer.from(value, 'base64').toString('latin1'))) {
    const problem = blockProblem(block);
    if (problem !== undefined) return problem;
    blocks++;
  }
  return blocks === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

/**
 * The issued certificate in the value of a `status.certificate` that was validated: the first one; others are of its issuers.
 * Throws if there is none.
 */
export function issuedCertificate(value: string): X509Certificate {
  const [block] = decodePem(Buffer.from(value, 'base64').toString('latin1'));
  return new X509Certificate(block?.bytes ?? '');
}

function blockProblem({ label, hasHeaders, bytes }: DecodedPem): string | undefined {
  if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
  if (hasHeaders) return 'no PEM block headers are permitted';
  if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
  if (bytes.length > limits.certificateBytesMax) return `a CERTIFICATE PEM block is larger than ${limits.certificateBytesMax} bytes`;
  return certificatesProblem(bytes);
}

/** A block may hold several certificates, one after another, as in Go's x509.ParseCertificates. */
function certificatesProblem(bytes: Buffer): string | undefined {
  try {
    for (const { whole } of readAll(bytes)) new X509Certificate(whole);
    return undefined;
  } catch {
    return 'x509: malformed certificate';
  }
}
