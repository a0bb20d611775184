/**
 * The protobuf wire format (https://protobuf.dev/programming-guides/encoding), as far as etcd's messages use it:
 * varints, length-delimited fields and 64-bit integers as JavaScript numbers. By hand, because the driver speaks seven
 * small messages: what a reflection library would need to describe them is longer than this file, untyped, and compiles
 * its code at run time.
 */

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

const varintBytesMax = 10;

/** Collects the fields of one message. Fields with the type's default are left out, as proto3 does. */
export class MessageWriter {
  readonly #parts: Uint8Array[] = [];

  /** A bytes field; empty is the default. */
  bytes(field: number, value: Uint8Array): this {
    return value.length === 0 ? this : this.#delimited(field, value);
  }

  /** An int64 or enum field. */
  int64(field: number, value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an unsigned safe integer: ${value}`);
    if (value !== 0) this.#parts.push(encodeVarint(field * 8 + varint), encodeVarint(value));
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int64(field, value ? 1 : 0);
  }

  /** A message field. Written even when empty: its presence says which member of a oneof is meant. */
  message(field: number, value: MessageWriter): this {
    return this.#delimited(field, value.finish());
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #delimited(field: number, value: Uint8Array): this {
    this.#parts.push(encodeVarint(field * 8 + lengthDelimited), encodeVarint(value.length), value);
    return this;
  }
}

const encodeVarint = (value: number): Uint8Array => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
};

/**
 * Walks over the fields of one message: `while (reader.next()) switch (reader.field) { case 1: x = reader.int64(); }`.
 * A field whose value was not taken is skipped. Throws RangeError on bytes that are no message.
 */
export class MessageReader {
  readonly #bytes: Uint8Array;
  #position = 0;
  #field = 0;
  /** Wire type of the value that `next` stands before; undefined once it was taken. */
  #untaken: number | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Number of the field that `next` found. */
  get field(): number {
    return this.#field;
  }

  /** Goes to the next field; false at the end. */
  next(): boolean {
    if (this.#untaken !== undefined) this.#skip(this.#untaken);
    this.#untaken = undefined;
    if (this.#position === this.#bytes.length) return false;
    const tag = this.#varint();
    this.#field = Math.floor(tag / 8);
    this.#untaken = tag % 8;
    return true;
  }

  /** The value of an int64 or enum field. Throws when it is not a safe integer. */
  int64(): number {
    this.#take(varint);
    return this.#varint();
  }

  bool(): boolean {
    return this.int64() !== 0;
  }

  /** A view of the value of a length-delimited field; it keeps the whole message in memory. */
  view(): Uint8Array {
    this.#take(lengthDelimited);
    const length = this.#varint();
    const start = this.#position;
    this.#advance(length);
    return this.#bytes.subarray(start, this.#position);
  }

  /** A copy of its own of the value of a bytes field. */
  copy(): Uint8Array {
    return new Uint8Array(this.view());
  }

  #take(wireType: number): void {
    if (this.#untaken !== wireType) throw new RangeError(`field ${this.#field} has wire type ${this.#untaken}`);
    this.#untaken = undefined;
  }

  #skip(wireType: number): void {
    switch (wireType) {
      case varint:
        this.#skipVarint();
        return;
      case fixed64:
        this.#advance(8);
        return;
      case lengthDelimited:
        this.#advance(this.#varint());
        return;
      case fixed32:
        this.#advance(4);
        return;
      default:
        throw new RangeError(`unknown wire type ${wireType}`);
    }
  }

  /** Without looking at it: it may be one that no number holds. */
  #skipVarint(): void {
    for (let count = 0; count < varintBytesMax; count++) if (this.#byte() < 0x80) return;
    throw new RangeError('varint has more than ten bytes');
  }

  #advance(count: number): void {
    if (count < 0 || count > this.#bytes.length - this.#position) throw new RangeError('message is cut off');
    this.#position += count;
  }

  #byte(): number {
    const byte = this.#bytes[this.#position];
    if (byte === undefined) throw new RangeError('message is cut off');
    this.#position += 1;
    return byte;
  }

  #varint(): number {
    const start = this.#position;
    let value = 0;
    let scale = 1;
    // Seven bytes are 49 bits, which a number holds exactly.
    for (let count = 0; count < 7; count++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    this.#position = start;
    return this.#longVarint();
  }

  /** Large and negative ones; a negative int64 is its two's complement in ten bytes. */
  #longVarint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 7n * BigInt(varintBytesMax); shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      const signed = Number(BigInt.asIntN(64, value));
      if (!Number.isSafeInteger(signed)) throw new RangeError('integer is beyond 2^53');
      return signed;
    }
    throw new RangeError('varint has more than ten bytes');
  }
}
