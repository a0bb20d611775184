import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-characters.ts';

/** Navigates the bytes of compact JSON without parsing it. */

/** Position of the value of the member whose name starts at `at`; -1 if there is no member. */
export function enterMember(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return -1;
  const end = skipString(bytes, at);
  return end < 0 || bytes[end] !== colon ? -1 : end + 1;
}

/** Position after the string that starts at `at`; -1 if it is unterminated. */
function skipString(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  for (let index = at + 1; index < length; index++) {
    const byte = bytes[index];
    if (byte === quote) return index + 1;
    if (byte === backslash) index++;
  }
  return -1;
}

/** Position after the value that starts at `at`; -1 if it is missing or unterminated. */
export function skipValue(bytes: Uint8Array, at: number): number {
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

/** Skips a number, true, false or null. */
function skipLiteral(bytes: Uint8Array, at: number): number {
  let index = at;
  for (; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === comma || byte === closeBrace || byte === closeBracket) break;
    if (byte === quote || byte === colon || byte === openBrace || byte === openBracket) return -1;
  }
  return index > at ? index : -1;
}
