import { asBuffer } from './collections/byte-span.ts';
/**
 * The protobuf wire format (https://protobuf.dev/programming-guides/encoding), as far as the API's and etcd's messages
 * use it: varints, doubles and length-delimited fields. Groups are only skipped: no message of ours has them.
 */

import { isUtf8 } from 'node:buffer';

export const wireType = { varint: 0, fixed64: 1, delimited: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** The bytes are not a valid message of the expected type. */
export class MalformedMessage extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'MalformedMessage';
  }
}

const cutOff = (): MalformedMessage => new MalformedMessage('the message is cut off');

const fieldNumberMax = 2 ** 29 - 1;

/**
 * Iterates over the fields of a message: `while (reader.next()) ...`; the value of each field must be read or skipped.
 * Throws MalformedMessage if the bytes are malformed; lengths are checked before anything of that length is allocated.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #low = 0;
  #high = 0;
  /** Number of the field that `next` found. */
  field = 0;
  type = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = asBuffer(bytes);
    this.#end = bytes.length;
  }

  /** Moves to the next field; false at the end of the message. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const byte = this.#bytes[this.#at] as number;
    if (byte < 0x80) {
      this.#at++;
      this.field = byte >> 3;
      this.type = byte & 7;
    } else {
      this.#varint();
      const tag = this.#high * 2 ** 32 + this.#low;
      this.field = Math.floor(tag / 8);
      this.type = tag % 8;
    }
    if (this.field < 1 || this.field > fieldNumberMax)
      throw new MalformedMessage(`no field has the number ${this.field}`);
    return true;
  }

  /** True if bytes are left in the message entered. */
  get more(): boolean {
    return this.#at < this.#end;
  }

  /** Throws if the field that `next` found has another wire type. */
  expect(type: number): void {
    if (this.type === type) return;
    throw new MalformedMessage(`field ${this.field} has wire type ${this.type}, expected ${type}`);
  }

  /** An int64: a number if exactly representable, otherwise a bigint. */
  int64(): number | bigint {
    this.#varint();
    if (this.#high === 0) return this.#low;
    const number = (this.#high | 0) * 2 ** 32 + this.#low;
    if (Number.isSafeInteger(number)) return number;
    return (BigInt(this.#high | 0) << 32n) | BigInt(this.#low);
  }

  /** An int32; larger values are truncated to 32 bits, as the format specifies. */
  int32(): number {
    this.#varint();
    return this.#low | 0;
  }

  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  double(): number {
    const at = this.#at;
    this.#advance(8);
    return this.#bytes.readDoubleLE(at);
  }

  /** A view of the message's bytes. */
  bytes(): Buffer {
    const outer = this.enter();
    const view = this.#bytes.subarray(this.#at, this.#end);
    this.leave(outer);
    return view;
  }

  /** A copy, so that a retained value does not retain its message. */
  copy(): Uint8Array {
    const outer = this.enter();
    const copy = new Uint8Array(this.#end - this.#at);
    copy.set(this.#bytes.subarray(this.#at, this.#end));
    this.leave(outer);
    return copy;
  }

  string(): string {
    const outer = this.enter();
    const [start, end] = [this.#at, this.#end];
    this.leave(outer);
    const text = this.#bytes.toString('utf8', start, end);
    // Invalid UTF-8 is decoded to this character, which a text may also contain itself.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, end))) {
      throw new MalformedMessage(`field ${this.field} is not UTF-8`);
    }
    return text;
  }

  /** Reads a length and descends into the message of that length. Pass the result to `leave`. */
  enter(): number {
    this.#varint();
    const length = this.#high === 0 ? this.#low : this.#high * 2 ** 32 + this.#low;
    if (length > this.#end - this.#at) throw cutOff();
    const outer = this.#end;
    this.#end = this.#at + length;
    return outer;
  }

  /** Continues after the message entered. */
  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  /** Skips the value of a field: of a group, everything up to its end, whatever number that has. */
  skip(): void {
    if (this.type !== wireType.startGroup) {
      this.#skipValue();
      return;
    }
    for (let depth = 1; depth > 0; ) {
      if (!this.next()) throw cutOff();
      if (this.type === wireType.startGroup) depth++;
      else if (this.type === wireType.endGroup) depth--;
      else this.#skipValue();
    }
  }

  #skipValue(): void {
    switch (this.type) {
      case wireType.varint:
        this.#varint();
        return;
      case wireType.fixed64:
        this.#advance(8);
        return;
      case wireType.fixed32:
        this.#advance(4);
        return;
      case wireType.delimited:
        this.leave(this.enter());
        return;
      default:
        throw new MalformedMessage(`field ${this.field} has wire type ${this.type}`);
    }
  }

  #advance(size: number): void {
    if (size > this.#end - this.#at) throw cutOff();
    this.#at += size;
  }

  #byte(): number {
    if (this.#at === this.#end) throw cutOff();
    return this.#bytes[this.#at++] as number;
  }

  /** Reads up to ten bytes into two halves of 32 bits; bits beyond 64 are dropped. */
  #varint(): void {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#low = low;
        this.#high = 0;
        return;
      }
    }
    const middle = this.#byte();
    this.#low = (low | (middle << 28)) >>> 0;
    let high = (middle >> 4) & 0x07;
    for (let shift = 3, byte = middle; byte >= 0x80; shift += 7) {
      if (shift > 31) throw new MalformedMessage('a varint has more than ten bytes');
      byte = this.#byte();
      high |= (byte & 0x7f) << shift;
    }
    this.#high = high >>> 0;
  }
}

const nothing = Buffer.alloc(0);
const firstBytes = 4 * 1024;
const spareBytesMax = 64 * 1024;
const shortText = 48;

/** A buffer not used by any writer. Messages are written one after the other, so one is enough. */
let spare: Buffer | undefined;

/** The bytes of one varint before they are copied into a buffer. */
const varint = new Uint8Array(10);

/**
 * Writes a message backwards, so that the length of a part is known when it is written in front of it: the last field
 * first, and for each field its value before `tag`.
 */
export class WireWriter {
  #buffer: Buffer;
  #start: number;

  constructor() {
    this.#buffer = spare ?? Buffer.allocUnsafeSlow(firstBytes);
    this.#start = this.#buffer.length;
    spare = undefined;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  tag(field: number, type: number): void {
    this.uint(field * 8 + type);
  }

  /** Prepends the length and tag of what was written since `length` was `before`. */
  delimit(field: number, before: number): void {
    this.uint(this.length - before);
    this.tag(field, wireType.delimited);
  }

  /** An integer from 0 to 2^53. */
  uint(value: number): void {
    if (value < 0x80) this.#reserve(1)[this.#start] = value;
    else this.#halves(value >>> 0, Math.floor(value / 2 ** 32));
  }

  /** Negative numbers take ten bytes, even 32-bit ones. */
  int(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.#halves(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
    } else if (value >= 0) this.uint(value);
    else this.#halves(value >>> 0, Math.floor(value / 2 ** 32) >>> 0);
  }

  double(value: number): void {
    this.#reserve(8).writeDoubleLE(value, this.#start);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length).set(bytes, this.#start);
  }

  text(value: string): void {
    if (value.length <= shortText && this.#ascii(value)) return;
    this.#reserve(Buffer.byteLength(value)).write(value, this.#start);
  }

  /**
   * A fast path: most texts are short ASCII, and writing them here is faster than a native call. False if the text is
   * not.
   */
  #ascii(value: string): boolean {
    const buffer = this.#reserve(value.length);
    for (let i = 0; i < value.length; i++) {
      const char = value.charCodeAt(i);
      if (char > 0x7f) {
        this.#start += value.length;
        return false;
      }
      buffer[this.#start + i] = char;
    }
    return true;
  }

  /** The bytes written. The writer must not be used afterwards. */
  finish(): Buffer {
    const written = Buffer.from(this.#buffer.subarray(this.#start));
    this.discard();
    return written;
  }

  /** The length of what was written. Like `finish` otherwise. */
  discard(): number {
    const { length } = this;
    if (this.#buffer.length <= spareBytesMax) spare = this.#buffer;
    this.#buffer = nothing;
    this.#start = 0;
    return length;
  }

  #halves(low: number, high: number): void {
    let count = 0;
    for (; high > 0 || low >= 0x80; count++) {
      varint[count] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    varint[count++] = low;
    const buffer = this.#reserve(count);
    for (let i = 0; i < count; i++) buffer[this.#start + i] = varint[i] as number;
  }

  /** Makes room in front of the bytes written. */
  #reserve(size: number): Buffer {
    if (size > this.#start) {
      const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.length + size));
      this.#buffer.copy(grown, grown.length - this.length, this.#start);
      this.#start = grown.length - this.length;
      this.#buffer = grown;
    }
    this.#start -= size;
    return this.#buffer;
  }
}
