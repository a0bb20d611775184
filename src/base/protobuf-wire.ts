/**
 * The protobuf wire format (https://protobuf.dev/programming-guides/encoding), as far as messages of the API and of etcd use
 * it: varints, doubles and what has its length in front. Groups are refused: no message has them.
 */

import { isUtf8 } from 'node:buffer';

export const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

/** The bytes are no message of the kind that was expected. */
export class MalformedMessage extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'MalformedMessage';
  }
}

const cutOff = (): MalformedMessage => new MalformedMessage('the message is cut off');

const fieldNumberMax = 2 ** 29 - 1;

/**
 * Walks over the fields of a message: `while (reader.next()) ...`, where the value of each field is to be taken, or
 * skipped. Throws MalformedMessage where the bytes are none; a length is looked at before anything is made of that length.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #low = 0;
  #high = 0;
  /** Of the field that `next` found. */
  field = 0;
  type = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.length;
  }

  /** Goes to the next field; false at the end of the message. */
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

  /** True where bytes are left of what was entered. */
  get more(): boolean {
    return this.#at < this.#end;
  }

  /** Throws where the field that `next` found is of another type. */
  expect(type: number): void {
    if (this.type === type) return;
    throw new MalformedMessage(`field ${this.field} has wire type ${this.type}, expected ${type}`);
  }

  /** An int64: a number where that is exact, else a bigint. */
  int64(): number | bigint {
    this.#varint();
    if (this.#high === 0) return this.#low;
    const number = (this.#high | 0) * 2 ** 32 + this.#low;
    if (Number.isSafeInteger(number)) return number;
    return (BigInt(this.#high | 0) << 32n) | BigInt(this.#low);
  }

  /** An int32; greater values are cut to 32 bits, as the format has it. */
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

  /** A copy, so that a value that is kept does not keep the message that it came in. */
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
    // What is not UTF-8 is replaced by this character, which text may also have of its own.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, end))) {
      throw new MalformedMessage(`field ${this.field} is not UTF-8`);
    }
    return text;
  }

  /** Takes a length and makes its bytes the message that is read. What it returns is for `leave`. */
  enter(): number {
    this.#varint();
    const length = this.#high === 0 ? this.#low : this.#high * 2 ** 32 + this.#low;
    if (length > this.#end - this.#at) throw cutOff();
    const outer = this.#end;
    this.#end = this.#at + length;
    return outer;
  }

  /** Goes on behind what was entered. */
  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  /** Passes over the value of a field. */
  skip(): void {
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

  /** Passes over the value of a field; true where it says something: more than zeros. */
  skipMeaning(): boolean {
    const at = this.#at;
    if (this.type === wireType.varint) return this.bool();
    if (this.type === wireType.delimited) return !isZeroMessage(this.bytes());
    this.skip();
    return this.#bytes.subarray(at, this.#at).some((byte) => byte !== 0);
  }

  #advance(size: number): void {
    if (size > this.#end - this.#at) throw cutOff();
    this.#at += size;
  }

  #byte(): number {
    if (this.#at === this.#end) throw cutOff();
    return this.#bytes[this.#at++] as number;
  }

  /** Reads up to ten bytes into two halves of 32 bits; what goes beyond 64 bits is dropped. */
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

const zeroDepthMax = 8;

/**
 * True for the bytes of a message that says nothing: all of its fields are zero or empty, or are such messages. Clients
 * write fields of newer releases so where they don't use them.
 */
function isZeroMessage(bytes: Buffer, depth = 1): boolean {
  if (bytes.length > 0 && depth > zeroDepthMax) return false;
  const reader = new WireReader(bytes);
  try {
    while (reader.next()) {
      if (reader.type === wireType.delimited ? !isZeroMessage(reader.bytes(), depth + 1) : reader.skipMeaning())
        return false;
    }
    return true;
  } catch {
    return false; // no message, so a text or bytes, and not empty
  }
}

const nothing = Buffer.alloc(0);
const firstBytes = 4 * 1024;
const spareBytesMax = 64 * 1024;
const shortText = 48;

/** A buffer that no writer uses now. Messages are written one after the other, so one is enough. */
let spare: Buffer | undefined;

/** The bytes of one varint, on their way into a buffer. */
const varint = new Uint8Array(10);

/**
 * Writes a message from its end to its beginning, so that the length of a part is known when it is written in front of
 * it: the last field first, and for each field its value before `tag`.
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

  /** Puts a length and a tag in front of what was written since `length` was `before`. */
  delimit(field: number, before: number): void {
    this.uint(this.length - before);
    this.tag(field, wireType.delimited);
  }

  /** A whole number from 0 to 2^53. */
  uint(value: number): void {
    if (value < 0x80) this.#reserve(1)[this.#start] = value;
    else this.#halves(value >>> 0, Math.floor(value / 2 ** 32));
  }

  /** Negative numbers take ten bytes, those of 32 bits too. */
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

  /** Most texts are short and plain, and written sooner than a call into the engine is made. False where it is not. */
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

  /** What was written. The writer is of no use afterwards. */
  finish(): Buffer {
    const written = Buffer.from(this.#buffer.subarray(this.#start));
    if (this.#buffer.length <= spareBytesMax) spare = this.#buffer;
    this.#buffer = nothing;
    this.#start = 0;
    return written;
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

  /** Makes room in front of what was written. */
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
