/**
 * DER (ITU-T X.690), limited to what certificates need: encoded bottom-up into bytes, decoded into a tree. Not a
 * library, because certificates are issued on every first start, and loading the library that parses signing requests
 * takes 40 ms.
 */

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

function encode(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, ...encodeLength(content.length)]), content]);
}

function encodeLength(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => encode(tags.sequence, Buffer.concat(parts));
/** A set of one element. Certificates issued here have no larger sets, so no ordering is needed. */
export const setOf = (element: Uint8Array): Buffer => encode(tags.set, element);
export const boolean = (value: boolean): Buffer => encode(tags.boolean, Buffer.from([value ? 0xff : 0]));
export const octetString = (content: Uint8Array): Buffer => encode(tags.octetString, content);
export const utf8String = (text: string): Buffer => encode(tags.utf8String, Buffer.from(text));
/** Explicit context-specific tag `number` around whole values. */
export const explicit = (number: number, ...parts: readonly Uint8Array[]): Buffer =>
  encode(0xa0 | number, Buffer.concat(parts));
/** Implicit context-specific tag `number` in place of a primitive value's own. */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

/** A non-negative integer from big-endian bytes. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = start === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(start));
  const signBit = ((digits[0] ?? 0) & 0x80) !== 0;
  return encode(tags.integer, signBit ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

/** A bit string without unused bits. */
export const bitString = (content: Uint8Array): Buffer =>
  encode(tags.bitString, Buffer.concat([Buffer.from([0]), content]));

/** Named bits as in key usage: bit 0 is the most significant; trailing zeros are dropped (X.690 11.2.2). */
export function namedBits(bits: readonly number[]): Buffer {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return encode(tags.bitString, Buffer.concat([Buffer.from([7 - (last & 7)]), bytes]));
}

/** Encodes dotted notation: `2.5.29.17`. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encode(tags.objectIdentifier, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** Key of an object identifier in maps: its DER in hex. */
export const identifierKey = (dotted: string): string => objectIdentifier(dotted).toString('hex');

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}

/** Whole seconds; UTCTime before 2050 and GeneralizedTime from then on (RFC 5280 section 4.1.2.5). */
export function time(ms: number): Buffer {
  const digits = new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return digits < '2050'
    ? encode(tags.utcTime, Buffer.from(digits.slice(2)))
    : encode(tags.generalizedTime, Buffer.from(digits));
}

/** A decoded value. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content as encoded. */
  readonly whole: Buffer;
}

/** Decodes consecutive values. Throws a RangeError if the bytes are not DER. */
export function readAll(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const value = readAt(bytes, at);
    values.push(value);
    at += value.whole.length;
  }
  return values;
}

/** No certificate is long enough to need more length bytes. */
const lengthBytesMax = 4;

/** Decodes the value that begins at `at`. Throws a RangeError if it is not DER. */
export function readAt(bytes: Buffer, at: number): DerValue {
  if (at + 2 > bytes.length) throw new RangeError('DER: value is cut off');
  const tag = bytes.readUInt8(at);
  const short = bytes.readUInt8(at + 1);
  const count = short < 0x80 ? 0 : short & 0x7f;
  if (short === 0x80 || count > lengthBytesMax) throw new RangeError('DER: bad length');
  const start = at + 2 + count;
  if (start > bytes.length) throw new RangeError('DER: value is cut off');
  const length = count === 0 ? short : bytes.readUIntBE(at + 2, count);
  if (start + length > bytes.length) throw new RangeError('DER: value is cut off');
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) };
}
