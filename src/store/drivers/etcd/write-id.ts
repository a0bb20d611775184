import type { Random } from '../../../base/random.ts';

/**
 * Distinguishes a write from all others, even those with the same value: if two clients append the same to the same
 * state, they write the same bytes, and only one of them may be told that it succeeded.
 *
 * The id follows the value and is JSON whitespace: a line break, then a space or a tab for each of 64 bits. JSON
 * parsers skip it, including older versions of this driver, which write none.
 */
export type WriteId = Uint8Array;

const lineBreak = 0x0a;
const space = 0x20;
const tab = 0x09;

/** Random bits, which differ between stores; the remaining bits are a counter. */
const storeBits = 32;
const counterBits = 32;
const idLength = 1 + storeBits + counterBits;

/** The ids of one store: 32 random bits of its own, and a counter. */
export class WriteIds {
  /** An id without its counter. */
  readonly #store = new Uint8Array(idLength);
  #count = 0;

  constructor(random: Random) {
    this.#store[0] = lineBreak;
    for (const [index, byte] of random.bytes(storeBits / 8).entries()) writeBits(this.#store, 1 + index * 8, byte, 8);
  }

  next(): WriteId {
    this.#count = (this.#count + 1) % 2 ** counterBits;
    const id = this.#store.slice();
    writeBits(id, 1 + storeBits, this.#count, counterBits);
    return id;
  }
}

/** One whitespace character for each bit of a number. */
const writeBits = (blanks: Uint8Array, from: number, value: number, bits: number): void => {
  for (let bit = 0; bit < bits; bit++) blanks[from + bit] = (value >>> bit) & 1 ? tab : space;
};

/** A value as stored in etcd. */
export const withWriteId = (value: Uint8Array, id: WriteId): Uint8Array => Buffer.concat([value, id]);

/** The value without its id; a view. */
export const withoutWriteId = (kept: Uint8Array): Uint8Array => {
  const length = kept.length - idLength;
  if (length < 0 || kept[length] !== lineBreak) return kept;
  for (let index = length + 1; index < kept.length; index++) {
    const blank = kept[index];
    if (blank !== space && blank !== tab) return kept;
  }
  return kept.subarray(0, length);
};

/** Whether that write produced the value. */
export const isWrittenBy = (kept: Uint8Array, id: WriteId): boolean =>
  kept.length >= idLength && Buffer.compare(kept.subarray(kept.length - idLength), id) === 0;
