/**
 * CEL strings are sequences of code points; JavaScript strings are sequences of UTF-16 code units. Without surrogates,
 * both are the same, and indexing is cheap.
 */
const surrogate = /[\ud800-\udfff]/;

export function lengthOfText(text: string): number {
  if (!surrogate.test(text)) return text.length;
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    if ((text.codePointAt(at) ?? 0) > 0xffff) at++;
    length++;
  }
  return length;
}

/** From the code point `start` (inclusive) to `end` (exclusive). */
export const sliceText = (text: string, start: number, end?: number): string =>
  surrogate.test(text) ? Array.from(text).slice(start, end).join('') : text.slice(start, end);

/** The UTF-16 offset of the code point `index`. */
export const unitAt = (text: string, index: number): number => sliceText(text, 0, index).length;

/** The code point index of a UTF-16 offset; -1 is returned unchanged. */
export const pointAt = (text: string, unit: number): number => (unit === -1 ? -1 : lengthOfText(text.slice(0, unit)));
