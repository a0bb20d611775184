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
