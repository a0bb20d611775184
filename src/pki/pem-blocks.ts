/** One block of a PEM text (RFC 7468), not decoded. */
export interface PemBlock {
  /** `RSA PRIVATE KEY`. */
  readonly label: string;
  /** From its first dash to its last. */
  readonly text: string;
  /** Where it begins, from 1. */
  readonly line: number;
}

const block = /-----BEGIN ([^\n-]*)-----[\s\S]*?-----END \1-----/g;
const beginning = /-----BEGIN [^\n-]*-----/g;

/**
 * All blocks of a text, in its order; what stands between them means nothing. Throws an Error that says where a block
 * begins that does not end: what comes after it would be lost without a word.
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
