import { type DerValue, readAll } from './der.ts';

/** An AlgorithmIdentifier (RFC 5280 section 4.1.1.2). */
export interface Algorithm {
  /** See `identifierKey`. */
  readonly id: string;
  /** DER in hex; '' if absent, which is not the same as NULL. */
  readonly parameters: string;
}

/** Throws a RangeError if the value is something else. */
export function readAlgorithm({ tag, content }: DerValue): Algorithm {
  const [id, parameters, ...others] = readAll(content);
  if (tag !== 0x30 || id?.tag !== 0x06 || others.length > 0)
    throw new RangeError('x509: malformed algorithm identifier');
  return { id: id.whole.toString('hex'), parameters: parameters?.whole.toString('hex') ?? '' };
}
