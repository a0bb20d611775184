import { createHash, randomBytes, randomFillSync, randomUUID } from 'node:crypto';

/** Randomness, injected so that a seed replays a run. */
export interface Random {
  /** A version 4 UUID in lower case (RFC 9562 section 5.4). */
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** Random bytes drawn from the system in bulk: each call takes microseconds, however few bytes it returns. */
class RandomPool {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  /** Bytes never handed out twice. At most `poolBytes`. */
  take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) {
      this.#bytes = randomBytes(poolBytes);
      this.#at = 0;
    }
    const taken = Uint8Array.prototype.slice.call(this.#bytes, this.#at, this.#at + count);
    // Bytes handed out may be a secret.
    this.#bytes.fill(0, this.#at, this.#at + count);
    this.#at += count;
    return taken;
  }
}

const poolBytes = 4096;
const pool = new RandomPool();

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => (count <= 64 ? pool.take(count) : randomBytes(count)),
};

/** Fills memory with incompressible bytes, which need not be reproducible. */
export const fillWithNoise = (memory: Uint8Array): void => {
  randomFillSync(memory);
};

/** Length of `nameSuffix`. */
export const nameSuffixLength = 5;
/** No vowels, and no digits that resemble letters: the suffix forms no words. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** A random suffix of five characters for `generateName`. */
export function nameSuffix(random: Random): string {
  let suffix = '';
  for (const byte of random.bytes(nameSuffixLength)) suffix += suffixAlphabet[byte % suffixAlphabet.length];
  return suffix;
}

/**
 * Deterministic values from a seed, to replay a run: for simulations only, because some of the values reveal all
 * others. The generator is sfc32.
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
  // The first values still correlate with the seed.
  for (let round = 0; round < 16; round++) next();
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, next);
  return {
    bytes,
    uuid: () => uuidOf(bytes(16)),
  };
}

/** Length of an unguessable seed for `derivedRandom`. */
export const randomSeedBytes = 32;

/**
 * Values derived from a seed, unpredictable without it: hashes of the seed with a counter. For work that is passed to
 * another thread together with its randomness.
 */
export function derivedRandom(seed: Uint8Array): Random {
  let counter = 0;
  let left: Uint8Array = Buffer.alloc(0);
  const bytes = (count: number): Uint8Array => {
    const blocks = [left];
    for (let length = left.length; length < count; length += hashBytes) {
      counter += 1;
      blocks.push(createHash('sha256').update(seed).update(String(counter)).digest());
    }
    const all = Buffer.concat(blocks);
    left = all.subarray(count);
    return all.subarray(0, count);
  };
  return { bytes, uuid: () => uuidOf(bytes(16)) };
}

const hashBytes = 32;

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20)].join('-');
}
