import { information, integerMax, integerMin, majorType, simpleValue, tagNumber } from './format.ts';

const firstBytes = 4 * 1024;
const spareBytesMax = 256 * 1024;
const shortText = 48;

/** A buffer not used by any writer. Values are written one after the other, so one is enough. */
let spare: Buffer | undefined;

/**
 * Writes data items in their shortest form, as deterministic encoding requires (RFC 8949 section 4.2.1). The caller sorts
 * the keys of maps. Texts are byte strings, as published servers write them (KEP-4222).
 */
export class CborWriter {
  #buffer: Buffer = spare ?? Buffer.allocUnsafeSlow(firstBytes);
  #at = 0;

  constructor() {
    spare = undefined;
  }

  array(length: number): void {
    this.#head(majorType.array, length);
  }

  map(size: number): void {
    this.#head(majorType.map, size);
  }

  text(value: string): void {
    if (value.length <= shortText && this.#ascii(value)) return;
    const length = Buffer.byteLength(value);
    this.#head(majorType.bytes, length);
    this.#reserve(length);
    this.#buffer.write(value, this.#at);
    this.#at += length;
  }

  /** Bytes that are base64 text in JSON, so tagged (RFC 8949 section 3.4.5.2). */
  base64(text: string): void {
    const bytes = Buffer.from(text, 'base64');
    this.#head(majorType.tag, tagNumber.base64);
    this.#head(majorType.bytes, bytes.length);
    this.raw(bytes);
  }

  boolean(value: boolean): void {
    this.#byte((majorType.simple << 5) | (value ? simpleValue.true : simpleValue.false));
  }

  null(): void {
    this.#byte((majorType.simple << 5) | simpleValue.null);
  }

  /** Integers outside of int64 become floats, which is what published servers hold of them. */
  number(value: number | bigint): void {
    if (typeof value === 'bigint') {
      if (value < integerMin || value > integerMax) this.#float(Number(value));
      else this.#bigint(value);
    } else if (!Number.isSafeInteger(value)) this.#float(value);
    else if (value >= 0) this.#head(majorType.unsigned, value);
    else this.#head(majorType.negative, -1 - value);
  }

  /** Items that are encoded already. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** The bytes written. The writer must not be used afterwards. */
  finish(): Buffer {
    const written = Buffer.from(this.#buffer.subarray(0, this.#at));
    if (this.#buffer.length <= spareBytesMax) spare = this.#buffer;
    return written;
  }

  /** A fast path: most texts are short ASCII, and writing them here is faster than a native call. */
  #ascii(value: string): boolean {
    const before = this.#at;
    this.#head(majorType.bytes, value.length);
    this.#reserve(value.length);
    const buffer = this.#buffer;
    const start = this.#at;
    for (let i = 0; i < value.length; i++) {
      const char = value.charCodeAt(i);
      if (char > 0x7f) {
        this.#at = before;
        return false;
      }
      buffer[start + i] = char;
    }
    this.#at = start + value.length;
    return true;
  }

  /** The smallest of three widths that keeps the value. */
  #float(value: number): void {
    this.#reserve(9);
    const { buffer, byteOffset } = this.#buffer;
    const view = new DataView(buffer, byteOffset + this.#at);
    if (Math.fround(value) !== value) {
      this.#byte((majorType.simple << 5) | information.eightBytes);
      view.setFloat64(1, value);
      this.#at += 8;
    } else if (Math.f16round(value) !== value) {
      this.#byte((majorType.simple << 5) | information.fourBytes);
      view.setFloat32(1, value);
      this.#at += 4;
    } else {
      this.#byte((majorType.simple << 5) | information.twoBytes);
      view.setFloat16(1, value);
      this.#at += 2;
    }
  }

  #bigint(value: bigint): void {
    const [major, argument] = value >= 0n ? [majorType.unsigned, value] : [majorType.negative, -1n - value];
    if (argument <= BigInt(Number.MAX_SAFE_INTEGER)) {
      this.#head(major, Number(argument));
      return;
    }
    this.#byte((major << 5) | information.eightBytes);
    this.#reserve(8);
    this.#at = this.#buffer.writeBigUInt64BE(argument, this.#at);
  }

  /** An initial byte and its argument, an integer from 0 to 2^53. */
  #head(major: number, argument: number): void {
    this.#reserve(9);
    const buffer = this.#buffer;
    const type = major << 5;
    if (argument <= information.direct) buffer[this.#at++] = type | argument;
    else if (argument <= 0xff) {
      buffer[this.#at++] = type | information.oneByte;
      buffer[this.#at++] = argument;
    } else if (argument <= 0xffff) {
      buffer[this.#at++] = type | information.twoBytes;
      buffer[this.#at++] = argument >> 8;
      buffer[this.#at++] = argument;
    } else if (argument <= 0xffffffff) {
      buffer[this.#at++] = type | information.fourBytes;
      this.#at = buffer.writeUInt32BE(argument, this.#at);
    } else {
      buffer[this.#at++] = type | information.eightBytes;
      this.#at = buffer.writeUInt32BE(Math.floor(argument / 2 ** 32), this.#at);
      this.#at = buffer.writeUInt32BE(argument >>> 0, this.#at);
    }
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#at++] = value;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + size));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }
}
