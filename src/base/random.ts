import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';

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

/** Fills memory with what nothing can compress, and nobody replays. */
export const fillWithNoise = (memory: Uint8Array): void => {
  randomFillSync(memory);
};

/** Characters of `nameSuffix`. */
export const nameSuffixLength = 5;
/** Neither vowels nor digits that look like letters: no words come of it. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters that make a name of its own out of a prefix. */
export const nameSuffix = (random: Random): string =>
  Array.from(random.bytes(nameSuffixLength), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/**
 * The same values for the same seed, to replay a run: for simulations only, since whoever knows some of them knows all.
 * The generator is sfc32.
 */
export function seededRandom(seed: number): Random {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, seed | 0];
  const next = (): number => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 24;
  };
  // The first values still show the seed.
  for (let round = 0; round < 16; round++) next();
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, next);
  return {
    bytes,
    uuid() {
      const hex = Buffer.from(bytes(16)).toString('hex');
      const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
      const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
      return [...parts, hex.slice(20)].join('-');
    },
  };
}
