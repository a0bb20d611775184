import { X509Certificate } from 'node:crypto';

/** One block of a PEM text (RFC 7468), not decoded. */
export interface PemBlock {
  /** For example `RSA PRIVATE KEY`. */
  readonly label: string;
  /** The block from its first to its last dash. */
  readonly text: string;
  /** Line of the BEGIN marker, starting at 1. */
  readonly line: number;
}

const block = /-----BEGIN ([^\n-]*)-----[\s\S]*?-----END \1-----/g;
const beginning = /-----BEGIN [^\n-]*-----/g;

/**
 * All blocks of a text, in order; text between them is ignored. Throws an Error with the line of a block that has no
 * end marker: what follows it would otherwise be lost silently.
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks = [...text.matchAll(block)].map((match) => ({
    label: match[1] ?? '',
    text: match[0],
    line: lineOf(text, match.index),
  }));
  for (const { index } of text.matchAll(beginning)) {
    const line = lineOf(text, index);
    if (!blocks.some((each) => each.line === line)) throw new Error(`has a PEM block at line ${line} that has no end`);
  }
  return blocks;
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** RFC 7468 certificate blocks; text between them is ignored. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in order; [] if there are none. Throws if a block is not a valid certificate. */
export function certificatesFromPem(pem: string): X509Certificate[] {
  return (pem.match(certificateBlock) ?? []).map((block) => new X509Certificate(block));
}

/** The certificate as a PEM block with a trailing newline. */
export const certificateToPem = (certificate: X509Certificate): string => certificate.toString();
