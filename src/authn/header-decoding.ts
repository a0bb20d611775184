import { isUtf8 } from 'node:buffer';

const beyondAscii = /[^\0-\x7f]/;
const beyondBytes = /[^\0-\xff]/;

/**
 * The text of a header value, whose bytes the HTTP layer gives as one character each: names of people and groups are
 * sent as UTF-8, and must be the same names as in objects and tokens. Undefined where the bytes are no UTF-8.
 */
export function decodeHeaderText(value: string): string | undefined {
  // What never was on a wire has no bytes.
  if (!beyondAscii.test(value) || beyondBytes.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/**
 * The key of an extra value from what follows the prefix in the header's name: percent-decoded where that is possible
 * (as it stands otherwise, as published servers have it), and in lower case (spec section 2.6).
 */
export function extraKey(suffix: string): string {
  let key = suffix;
  try {
    key = decodeURIComponent(suffix);
  } catch {
    // It was not encoded, or not in UTF-8: then it is the key itself.
  }
  return key.toLowerCase();
}

/**
 * A header value without the blanks and tabs around it, which are no part of it (RFC 9110 section 5.5); other white space
 * is. Looks at each end once: a pattern would look at every run of blanks in a hostile value again and again.
 */
export function trimBlanks(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && isBlank(value, start)) start += 1;
  while (end > start && isBlank(value, end - 1)) end -= 1;
  return value.slice(start, end);
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';
