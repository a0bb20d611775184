import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness, injected so that a seed replays a run. */
export interface Random {
  /** A version 4 UUID in lower case (RFC 9562 section 5.4). */
  uuid(): string;
  bytes(count: number): Uint8Array;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
};

/** Characters of `nameSuffix`. */
export const nameSuffixLength = 5;
/** Neither vowels nor digits that look like letters: no words come of it. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters that make a name of its own out of a prefix. */
export const nameSuffix = (random: Random): string =>
  Array.from(random.bytes(nameSuffixLength), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join('');
