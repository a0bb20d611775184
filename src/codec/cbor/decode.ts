import { isAscii, isUtf8 } from 'node:buffer';
import { asBuffer } from '../../base/collections/byte-span.ts';
import { limits } from '../../base/limits.ts';
import { badRequest, type StatusError } from '../../meta/status-error.ts';
import { parseTime } from '../../meta/time.ts';
import { setOwn } from '../../schema/own-property.ts';
import type { Schema } from '../../schema/schema.ts';
import type { ParsedJson } from '../json.ts';
import { FieldNames } from './field-names.ts';
import { information, integerMax, integerMin, majorType, simpleValue, tagNumber } from './format.ts';
import { withBytes } from './tagged-bytes.ts';

/**
 * Parses one data item (RFC 8949), nothing after it, into the JSON value that it stands for. Throws BadRequest with the
 * position of the error. As in published servers (KEP-4222):
 * - Byte strings are texts; base64 of the bytes in tag 22, base64url in 21, hexadecimal in 23. Where the schema has bytes,
 *   each of these tags is around the bytes themselves.
 * - Other tags count for nothing, but for bignums and epoch times, which are refused, and texts that are no times in tag 0.
 * - Maps with equal keys, keys that are no text, floats that are not finite, and integers outside of int64 are refused.
 * - Lengths may be indefinite, and heads longer than needed.
 */
export function parseCbor(
  bytes: Uint8Array,
  { elementsMax = limits.elementsMax, schema }: ParseOptions = {},
): ParsedJson {
  const reader = new CborReader(bytes, elementsMax);
  const value = reader.document();
  if (!schema || !reader.hasTextTags) return { value, duplicates: [] };
  // Rare, so read once more instead of following the schema at each read.
  const base64 = new CborReader(bytes, elementsMax, 'base64').document();
  return { value: withBytes(schema, value, base64), duplicates: [] };
}

interface ParseOptions {
  readonly elementsMax?: number | undefined;
  /** Of the value; tells which texts are bytes. */
  readonly schema?: Schema;
}

/** Up to this length a text is read here instead of by a native call. */
const shortText = 24;

const shownKeyLengthMax = 128;

/** Of all documents that this thread reads. */
const fieldNames = new FieldNames();

class CborReader {
  readonly #bytes: Buffer;
  readonly #elementsMax: number;
  /** What tags 21 and 23 make of bytes. */
  #textTags: 'text' | 'base64';
  #hasTextTags = false;
  #at = 0;
  #elements = 0;

  constructor(bytes: Uint8Array, elementsMax: number, textTags: 'text' | 'base64' = 'text') {
    this.#bytes = asBuffer(bytes);
    this.#elementsMax = elementsMax;
    this.#textTags = textTags;
  }

  /** Whether there were tags 21 or 23. */
  get hasTextTags(): boolean {
    return this.#hasTextTags;
  }

  document(): unknown {
    const value = this.#item(0);
    if (this.#at < this.#bytes.length) throw this.#error('expected the end of input after the data item', this.#at);
    return value;
  }

  #item(depth: number): unknown {
    const at = this.#at;
    const initial = this.#byte();
    const info = initial & 31;
    switch (initial >> 5) {
      case majorType.unsigned:
        return this.#unsigned(info, at);
      case majorType.negative:
        return this.#negative(info, at);
      case majorType.bytes:
      case majorType.text:
        return this.#string(initial);
      case majorType.array:
        return this.#array(info, this.#deeper(depth, at));
      case majorType.map:
        return this.#map(info, this.#deeper(depth, at));
      case majorType.tag:
        return this.#tagged(info, depth);
      default:
        return this.#simple(info, at);
    }
  }

  #deeper(depth: number, at: number): number {
    if (depth >= limits.depthMax) throw this.#error(`expected no more than ${limits.depthMax} levels of nesting`, at);
    return depth + 1;
  }

  #array(info: number, depth: number): unknown[] {
    const array: unknown[] = [];
    for (let left = this.#length(info, 1); this.#isLeft(left); left--) array.push(this.#item(depth));
    return array;
  }

  #map(info: number, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (let left = this.#length(info, 2); this.#isLeft(left); left--) {
      const at = this.#at;
      const key = this.#key(at, depth);
      if (Object.hasOwn(map, key)) throw this.#error(`the map has the key ${shown(key)} twice`, at);
      setOwn(map, key, this.#item(depth));
    }
    return map;
  }

  #key(at: number, depth: number): string {
    const initial = this.#bytes[at] as number;
    const length = initial & 31;
    const isText = initial >> 5 === majorType.bytes || initial >> 5 === majorType.text;
    if (isText && length <= information.direct) return this.#shortKey(at + 1, length);
    const textTags = this.#textTags;
    // A key is never bytes.
    this.#textTags = 'text';
    const key = this.#item(depth);
    this.#textTags = textTags;
    if (typeof key !== 'string') throw this.#error('expected a map key that is a string', at);
    return key;
  }

  /** Almost every key. */
  #shortKey(start: number, length: number): string {
    this.#at = start;
    this.#advance(length);
    const end = start + length;
    const known = fieldNames.find(this.#bytes, start, end);
    if (known !== undefined) return known;
    const key = this.#text(this.#bytes, start, end);
    fieldNames.keep(this.#bytes, start, end, key);
    return key;
  }

  /** True if there is another element: of `left` ones, or before the break of an indefinite length. */
  #isLeft(left: number): boolean {
    if (left === 0) return false;
    // Below zero for an indefinite length.
    if (left < 0 && this.#takeBreak()) return false;
    this.#countElement();
    return true;
  }

  #countElement(): void {
    if (++this.#elements > this.#elementsMax)
      throw this.#error(`expected no more than ${this.#elementsMax} elements in arrays, maps and chunks`, this.#at);
  }

  #takeBreak(): boolean {
    if (this.#bytes[this.#at] !== breakByte) return false;
    this.#at++;
    return true;
  }

  /** Number of elements of an array or map, each of at least `bytesMin`; -1 for an indefinite length. */
  #length(info: number, bytesMin: number): number {
    if (info === information.indefinite) return -1;
    const length = this.#argument(info);
    if (length > (this.#bytes.length - this.#at) / bytesMin) throw this.#cutOff();
    return length;
  }

  #tagged(outermost: number, depth: number): unknown {
    for (let info = outermost; ; ) {
      const at = this.#at - 1;
      const tag = this.#argument(info);
      switch (tag) {
        case tagNumber.dateTime:
          return this.#dateTime(at);
        case tagNumber.base64url:
          return this.#textTagOfBytes(at, 'base64url');
        case tagNumber.base64:
          return this.#tagOfBytes(at).toString('base64');
        case tagNumber.base16:
          return this.#textTagOfBytes(at, 'hex');
        case tagNumber.epoch:
        case tagNumber.bignum:
        case tagNumber.negativeBignum:
          throw this.#error(`an item in tag ${tag} is not supported`, at);
      }
      // A chain of tags is no nesting: each takes no more than its bytes.
      const next = this.#bytes[this.#at];
      if (next === undefined || next >> 5 !== majorType.tag) return this.#item(depth);
      this.#at++;
      info = next & 31;
    }
  }

  #dateTime(at: number): string {
    const initial = this.#byte();
    const text = initial >> 5 === majorType.text ? this.#string(initial) : '';
    if (parseTime(text) === undefined) throw this.#error('expected a text string with an RFC 3339 time in tag 0', at);
    return text;
  }

  #textTagOfBytes(at: number, encoding: 'base64url' | 'hex'): string {
    this.#hasTextTags = true;
    return this.#tagOfBytes(at).toString(this.#textTags === 'text' ? encoding : this.#textTags);
  }

  #tagOfBytes(at: number): Buffer {
    const initial = this.#byte();
    if (initial >> 5 !== majorType.bytes) throw this.#error('expected a byte string in tags 21 to 23', at);
    const info = initial & 31;
    if (info === information.indefinite) return this.#chunks(majorType.bytes);
    const start = this.#advance(this.#argument(info));
    return this.#bytes.subarray(start, this.#at);
  }

  #string(initial: number): string {
    const info = initial & 31;
    if (info === information.indefinite) {
      const whole = this.#chunks(initial >> 5);
      return this.#text(whole, 0, whole.length);
    }
    const start = this.#advance(this.#argument(info));
    return this.#text(this.#bytes, start, this.#at);
  }

  /** Joins the chunks of a string of indefinite length, which are measured first. */
  #chunks(major: number): Buffer {
    const first = this.#at;
    let length = 0;
    this.#eachChunk(major, (start, end) => {
      this.#countElement();
      if (major === majorType.text && !isUtf8(this.#bytes.subarray(start, end))) throw this.#notUtf8(start);
      length += end - start;
    });
    const whole = Buffer.allocUnsafe(length);
    let at = 0;
    this.#at = first;
    this.#eachChunk(major, (start, end) => {
      at += this.#bytes.copy(whole, at, start, end);
    });
    return whole;
  }

  #eachChunk(major: number, take: (start: number, end: number) => void): void {
    while (!this.#takeBreak()) {
      const at = this.#at;
      const initial = this.#byte();
      if (initial >> 5 !== major || (initial & 31) === information.indefinite)
        throw this.#error('expected a chunk of the same type and a definite length', at);
      take(this.#advance(this.#argument(initial & 31)), this.#at);
    }
  }

  #text(bytes: Buffer, start: number, end: number): string {
    if (end - start <= shortText) {
      let at = start;
      while (at < end && (bytes[at] as number) < 0x80) at++;
      if (at === end) return bytes.toString('latin1', start, end);
    }
    const part = bytes.subarray(start, end);
    if (isAscii(part)) return bytes.toString('latin1', start, end);
    if (!isUtf8(part)) throw this.#notUtf8(start);
    return bytes.toString('utf8', start, end);
  }

  #unsigned(info: number, at: number): number | bigint {
    const argument = this.#argument(info);
    if (Number.isSafeInteger(argument)) return argument;
    const exact = this.#bytes.readBigUInt64BE(at + 1);
    if (exact > integerMax) throw this.#outOfRange(at);
    return exact;
  }

  #negative(info: number, at: number): number | bigint {
    const value = -1 - this.#argument(info);
    if (Number.isSafeInteger(value)) return value;
    const exact = -1n - this.#bytes.readBigUInt64BE(at + 1);
    if (exact < integerMin) throw this.#outOfRange(at);
    return exact;
  }

  #simple(info: number, at: number): boolean | number | null {
    switch (info) {
      case simpleValue.false:
        return false;
      case simpleValue.true:
        return true;
      case simpleValue.null:
        return null;
      case information.twoBytes:
      case information.fourBytes:
      case information.eightBytes:
        return this.#float(info, at);
      default:
        throw this.#error('expected false, true, null or a float', at);
    }
  }

  #float(info: number, at: number): number {
    const size = 1 << (info - information.oneByte);
    const start = this.#advance(size);
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + start, size);
    const value = size === 2 ? view.getFloat16(0) : size === 4 ? view.getFloat32(0) : view.getFloat64(0);
    if (!Number.isFinite(value)) throw this.#error('expected a float that is finite', at);
    return value;
  }

  /** The argument of the initial byte that was read; not exact beyond 2^53. */
  #argument(info: number): number {
    if (info <= information.direct) return info;
    switch (info) {
      case information.oneByte:
        return this.#byte();
      case information.twoBytes:
        return this.#bytes.readUInt16BE(this.#advance(2));
      case information.fourBytes:
        return this.#bytes.readUInt32BE(this.#advance(4));
      case information.eightBytes: {
        const start = this.#advance(8);
        return this.#bytes.readUInt32BE(start) * 2 ** 32 + this.#bytes.readUInt32BE(start + 4);
      }
      default:
        throw this.#error(`the initial byte has the additional information ${info}`, this.#at - 1);
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw this.#cutOff();
    this.#at++;
    return byte;
  }

  /** Skips `size` bytes; their position. */
  #advance(size: number): number {
    const start = this.#at;
    if (size > this.#bytes.length - start) throw this.#cutOff();
    this.#at += size;
    return start;
  }

  #cutOff(): StatusError {
    return this.#error('the data item is cut off', this.#at);
  }

  #notUtf8(at: number): StatusError {
    return this.#error('expected valid UTF-8', at);
  }

  #outOfRange(at: number): StatusError {
    return this.#error('expected an integer in the range of int64', at);
  }

  /** `error decoding CBOR: byte 17: the data item is cut off`; bytes are counted from 0. */
  #error(what: string, at: number): StatusError {
    return badRequest(`error decoding CBOR: byte ${at}: ${what}`);
  }
}

/** Ends an item of indefinite length. */
const breakByte = 0xff;

const shown = (key: string): string => JSON.stringify(key.slice(0, shownKeyLengthMax));
