import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
} from '../codec/json-characters.ts';

/**
 * Finds the labels in the bytes of a stored object without parsing it: several times faster than JSON.parse, which the
 * start with many objects and every write would pay for.
 *
 * Expects the stored form (codec/encoded.ts): compact JSON, in which only strings stand before `metadata`. Looks at the
 * structure of all bytes, so that a record that was cut off or overwritten is found; it does not check numbers, literals
 * and escapes, which cannot be wrong without the writer being wrong.
 */

/** Bytes from `start` up to `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The value of `metadata.labels`; 'none' where there is none; 'malformed' for bytes that are not a stored object. */
export function findLabels(bytes: Uint8Array): ByteRange | 'none' | 'malformed' {
  if (bytes[0] !== openBrace) return 'malformed';
  let labels: ByteRange | 'none' | 'malformed' = 'malformed';
  let metadataSeen = false;
  let at = 1;
  for (;;) {
    const valueStart = enterMember(bytes, at);
    if (valueStart < 0) return 'malformed';
    if (!metadataSeen && isName(bytes, at, metadataName)) {
      metadataSeen = true;
      if (bytes[valueStart] !== openBrace) return 'malformed';
      labels = labelsOfMetadata(bytes, valueStart + 1);
      if (labels === 'malformed') return labels;
    } else if (!metadataSeen && bytes[valueStart] !== quote) {
      return 'malformed';
    }
    at = skipValue(bytes, valueStart);
    if (at < 0) return 'malformed';
    if (bytes[at] !== comma) break;
    at++;
  }
  return bytes[at] === closeBrace && at === bytes.length - 1 ? labels : 'malformed';
}

function labelsOfMetadata(bytes: Uint8Array, start: number): ByteRange | 'none' | 'malformed' {
  let at = start;
  for (;;) {
    const valueStart = enterMember(bytes, at);
    if (valueStart < 0) return 'malformed';
    const end = skipValue(bytes, valueStart);
    if (end < 0) return 'malformed';
    if (isName(bytes, at, labelsName)) return { start: valueStart, end };
    if (bytes[end] !== comma) return bytes[end] === closeBrace ? 'none' : 'malformed';
    at = end + 1;
  }
}

const metadataName = Buffer.from('"metadata"');
const labelsName = Buffer.from('"labels"');

function isName(bytes: Uint8Array, at: number, name: Uint8Array): boolean {
  for (let index = 0; index < name.length; index++) if (bytes[at + index] !== name[index]) return false;
  return true;
}

/** Where the value of the member starts whose name starts at `at`; -1 where there is no member. */
function enterMember(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return -1;
  const end = skipString(bytes, at);
  return end < 0 || bytes[end] !== colon ? -1 : end + 1;
}

/** The position after the string that starts at `at`; -1 where it does not end. */
function skipString(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  for (let index = at + 1; index < length; index++) {
    const byte = bytes[index];
    if (byte === quote) return index + 1;
    if (byte === backslash) index++;
  }
  return -1;
}

/** The position after the value that starts at `at`; -1 where it does not end, or nothing is there. */
function skipValue(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === quote) return skipString(bytes, at);
  if (first !== openBrace && first !== openBracket) return skipLiteral(bytes, at);
  const { length } = bytes;
  let depth = 0;
  for (let index = at; index < length; ) {
    const byte = bytes[index];
    if (byte === quote) {
      index = skipString(bytes, index);
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

/** Numbers, true, false, null. */
function skipLiteral(bytes: Uint8Array, at: number): number {
  let index = at;
  for (; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === comma || byte === closeBrace || byte === closeBracket) break;
    if (byte === quote || byte === colon || byte === openBrace || byte === openBracket) return -1;
  }
  return index > at ? index : -1;
}
