import type { Random } from '../../../base/random.ts';

/**
 * Tells one write from all others, those with the same value included: two clients that append the same to the same state
 * write the same bytes, and only one of them is to be told that it did.
 *
 * It stands behind the value, and is blanks: a line break, then a space or a tab for each of 64 bits. Readers of JSON pass
 * over it, older versions of this driver among them, which write none.
 */
export type WriteId = Uint8Array;

const lineBreak = 0x0a;
const space = 0x20;
const tab = 0x09;

const bitsPerByte = 8;
/** Random ones, which differ between stores, and those of a counter. */
const storeBytes = 4;
const counterBytes = 4;
const idLength = 1 + (storeBytes + counterBytes) * bitsPerByte;

/** The ids of one store: 32 random bits of its own, and a counter. */
export class WriteIds {
  readonly #store: Buffer;
  #count = 0;

  constructor(random: Random) {
    this.#store = Buffer.concat([
      Buffer.of(lineBreak),
      ...Array.from(random.bytes(storeBytes), (byte) => blanksOf(byte)),
    ]);
  }

  next(): WriteId {
    this.#count = (this.#count + 1) % 2 ** (8 * counterBytes);
    const id = Buffer.alloc(idLength);
    this.#store.copy(id);
    for (let index = 0, rest = this.#count; index < counterBytes; index++, rest = Math.floor(rest / 256)) {
      blanksOf(rest % 256).copy(id, this.#store.length + index * bitsPerByte);
    }
    return id;
  }
}

const blanks = Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(Array.from({ length: bitsPerByte }, (_, bit) => ((byte >> bit) % 2 === 0 ? space : tab))),
);

/** One blank for each bit of a byte. */
const blanksOf = (byte: number): Buffer => blanks[byte] ?? Buffer.alloc(bitsPerByte, space);

/** A value as it is kept in etcd. */
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

/** Whether that write made the value. */
export const isWrittenBy = (kept: Uint8Array, id: WriteId): boolean =>
  kept.length >= idLength && Buffer.compare(kept.subarray(kept.length - idLength), id) === 0;
