import { boundedMemo } from '../../../base/collections/bounded-memo.ts';
import type { OutputBuffer } from '../output-buffer.ts';
import { huffmanEncode, huffmanLength } from './huffman.ts';
import { staticTable } from './static-table.ts';

/**
 * Encodes response header fields. Nothing is added to the peer's dynamic table, so that the bytes of a field are the
 * same on every connection and can be cached. This costs about 50 bytes per response with Huffman coding.
 */

/**
 * Sent at the start of the first block of a connection: sets our dynamic table to size 0, whatever the peer allows
 * (RFC 7541 section 4.2).
 */
export const noTable: Buffer = Buffer.from([0x20]);

/** Appends one field; the name must be in lower case. Throws a TypeError, and appends nothing, for an invalid value. */
export const appendField = (to: OutputBuffer, name: string, value: string): void => fieldOf(name).append(to, value);

const valuesKeptMax = 256;
/** A length of this or more takes more than one byte (RFC 7541 section 5.1). */
const shortMax = 127;
const valueLengthKeptMax = 256;

/** A field name with the cached encodings of its values. */
class ResponseField {
  readonly #name: string;
  /** Start of a literal field that is not indexed (RFC 7541 section 6.2.2), with the name. */
  readonly #literal: Buffer;
  readonly #kept = new Map<string, Buffer>();
  #foundAgain = 0;
  /** The value differs in almost every response: caching or compressing it costs more than it saves. */
  #alwaysNew = false;

  constructor(name: string) {
    this.#name = name;
    const index = nameIndex.get(name);
    const bytes = Buffer.alloc(16 + name.length);
    const at = writeInteger(index ?? 0, { prefixMask: 0x0f, first: 0 }, bytes, 0);
    this.#literal = bytes.subarray(0, index === undefined ? writeText(name, bytes, at) : at);
  }

  append(to: OutputBuffer, value: string): void {
    const known = this.#alwaysNew ? undefined : this.#kept.get(value);
    if (known) {
      this.#foundAgain += 1;
      to.append(known);
      return;
    }
    if (invalidValue.test(value)) throw new TypeError(`header ${this.#name} has an invalid value`);
    if (this.#alwaysNew) this.#appendText(to, value);
    else {
      const encoded = this.#make(value);
      if (value.length <= valueLengthKeptMax) this.#keep(value, encoded);
      to.append(encoded);
    }
  }

  /** Writes a value that will not recur directly into the output. */
  #appendText(to: OutputBuffer, value: string): void {
    if (value.length >= shortMax) {
      to.append(this.#withText(value, false));
      return;
    }
    const literal = this.#literal;
    const at = to.reserve(literal.length + 1 + value.length);
    const { target } = to;
    target.set(literal, at);
    target[at + literal.length] = value.length;
    target.write(value, at + literal.length + 1, 'latin1');
  }

  #make(value: string): Buffer {
    const index = wholeIndex.get(`${this.#name}\0${value}`);
    return index === undefined ? this.#withText(value, true) : Buffer.from([0x80 | index]);
  }

  #withText(value: string, huffman: boolean): Buffer {
    const bytes = Buffer.allocUnsafe(this.#literal.length + 8 + value.length);
    bytes.set(this.#literal, 0);
    return bytes.subarray(0, writeText(value, bytes, this.#literal.length, huffman));
  }

  #keep(value: string, encoded: Buffer): void {
    if (this.#kept.size >= valuesKeptMax) {
      this.#alwaysNew = this.#foundAgain < valuesKeptMax;
      this.#foundAgain = 0;
      this.#kept.clear();
    }
    if (!this.#alwaysNew) this.#kept.set(value, encoded);
  }
}

/** Characters that are invalid in a field value (RFC 9113 section 8.2.1). */
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/;

const wholeIndex = new Map(staticTable.map(([name, value], at) => [`${name}\0${value}`, at + 1]));
/** Lowest index of each name. */
const nameIndex = new Map(staticTable.map(([name], at) => [name, at + 1] as const).reverse());

/** The names come from the program, so there are few. */
const fieldOf = boundedMemo((name) => new ResponseField(name), { countMax: 256, lengthMax: 64 });

/** String literal (RFC 7541 section 5.2), in the shorter of its two forms, or without Huffman coding. */
function writeText(text: string, target: Buffer, from: number, huffman = true): number {
  const short = huffman ? huffmanLength(text) : text.length;
  if (short < text.length) {
    return huffmanEncode(text, target, writeInteger(short, { prefixMask: 0x7f, first: 0x80 }, target, from));
  }
  const at = writeInteger(text.length, { prefixMask: 0x7f, first: 0 }, target, from);
  return at + target.write(text, at, 'latin1');
}

/** Integer (RFC 7541 section 5.1). `first` holds the bits before the prefix. Returns the offset behind the integer. */
export function writeInteger(
  value: number,
  { prefixMask, first }: { readonly prefixMask: number; readonly first: number },
  target: Uint8Array,
  from: number,
): number {
  if (value < prefixMask) {
    target[from] = first | value;
    return from + 1;
  }
  target[from] = first | prefixMask;
  let at = from + 1;
  let rest = value - prefixMask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    target[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  target[at] = rest;
  return at + 1;
}
