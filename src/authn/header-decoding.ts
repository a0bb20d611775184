import { isUtf8 } from 'node:buffer';

const beyondAscii = /[^\0-\x7f]/;
const beyondBytes = /[^\0-\xff]/;

/**
 * Decodes a header value as UTF-8. The HTTP layer gives one character per byte, but user and group names are sent as
 * UTF-8 and must equal the names in objects and tokens. Undefined if the bytes are not UTF-8.
 */
export function decodeHeaderText(value: string): string | undefined {
  // Characters above U+00FF did not come from a header, so the value needs no decoding.
  if (!beyondAscii.test(value) || beyondBytes.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/**
 * Key of an extra value, from the part of the header name after the prefix: percent-decoded if possible (otherwise as
 * it is, like kube-apiserver) and in lower case (spec section 2.6).
 */
export function extraKey(suffix: string): string {
  let key = suffix;
  try {
    key = decodeURIComponent(suffix);
  } catch {
    // Not percent-encoded UTF-8: the suffix is the key.
  }
  return key.toLowerCase();
}

/**
 * Strips spaces and tabs around a header value (RFC 9110 section 5.5), but no other white space. Linear even for
 * hostile input, which a regular expression with long runs of blanks is not.
 */
export function trimBlanks(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && isBlank(value, start)) start += 1;
  while (end > start && isBlank(value, end - 1)) end -= 1;
  return value.slice(start, end);
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';
