import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-characters.ts';

const quotes = quote * 0x01010101;
const backslashes = backslash * 0x01010101;

/** Navigates the bytes of compact JSON without parsing it. Most bytes are in strings: there it looks at four at once. */
export class JsonBytes {
  readonly #view: DataView;
  readonly #end: number;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#end = byteLength;
  }

  /** -1 behind the last byte. */
  at(index: number): number {
    return index < this.#end ? this.#view.getUint8(index) : -1;
  }

  /** True if these bytes are there. */
  has(bytes: Uint8Array, at: number): boolean {
    if (at + bytes.length > this.#end) return false;
    const view = this.#view;
    for (let index = 0; index < bytes.length; index++) if (view.getUint8(at + index) !== bytes[index]) return false;
    return true;
  }

  /** Position of the value of the member whose name starts at `at`; -1 if there is no member. */
  enterMember(at: number): number {
    if (this.at(at) !== quote) return -1;
    const end = skipString(this.#view, this.#end, at);
    return end < 0 || this.at(end) !== colon ? -1 : end + 1;
  }

  /** Position after the value that starts at `at`; -1 if it is missing or unterminated. */
  skipValue(at: number): number {
    const first = this.at(at);
    if (first === quote) return skipString(this.#view, this.#end, at);
    return first === openBrace || first === openBracket ? this.#skipContainer(at) : this.#skipLiteral(at);
  }

  #skipContainer(at: number): number {
    const view = this.#view;
    const end = this.#end;
    let depth = 0;
    for (let index = at; index < end; ) {
      const byte = view.getUint8(index);
      if (byte === quote) {
        index = skipString(view, end, index);
        if (index < 0) return -1;
        continue;
      }
      index++;
      if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) {
        depth--;
        if (depth === 0) return index;
      }
    }
    return -1;
  }

  /** Skips a number, true, false or null. */
  #skipLiteral(at: number): number {
    const view = this.#view;
    const end = this.#end;
    let index = at;
    for (; index < end; index++) {
      const byte = view.getUint8(index);
      if (byte === comma || byte === closeBrace || byte === closeBracket) break;
      if (byte === quote || byte === colon || byte === openBrace || byte === openBracket) return -1;
    }
    return index > at ? index : -1;
  }
}

/** Position after the string that starts at `at`; -1 if it is unterminated. */
function skipString(view: DataView, end: number, at: number): number {
  for (let index = at + 1; ; ) {
    while (index <= end - 4) {
      const four = view.getInt32(index, true);
      const found = zeroBytes(four ^ quotes) | zeroBytes(four ^ backslashes);
      if (found !== 0) {
        index += lowestByte(found);
        break;
      }
      index += 4;
    }
    if (index >= end) return -1;
    const byte = view.getUint8(index++);
    if (byte === quote) return index;
    if (byte === backslash) index++;
  }
}

/** The highest bit of each byte that is zero; above the lowest of them, where a borrow comes from, also of some that are not. */
const zeroBytes = (four: number): number => (four - 0x01010101) & ~four & 0x80808080;

/** Index of the lowest byte that has a bit. */
const lowestByte = (bits: number): number => (31 - Math.clz32(bits & -bits)) >> 3;
