import { type DerValue, objectIdentifier, readAll } from './der.ts';

/** An AlgorithmIdentifier (RFC 5280 section 4.1.1.2). */
export interface Algorithm {
  /** See `algorithmId`. */
  readonly id: string;
  /** DER in hex; '' if absent, which is not the same as NULL. */
  readonly parameters: string;
}

/** Key of an algorithm: its DER object identifier, in hex. */
export const algorithmId = (dotted: string): string => objectIdentifier(dotted).toString('hex');

/** Throws a RangeError if the value is something else. */
export function readAlgorithm({ tag, content }: DerValue): Algorithm {
  const [id, parameters, ...others] = readAll(content);
  if (tag !== 0x30 || id?.tag !== 0x06 || others.length > 0)
    throw new RangeError('x509: malformed algorithm identifier');
  return { id: id.whole.toString('hex'), parameters: parameters?.whole.toString('hex') ?? '' };
}
