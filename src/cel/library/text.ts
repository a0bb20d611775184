/**
 * CEL strings are sequences of code points; JavaScript strings are sequences of UTF-16 code units. Without surrogates,
 * both are the same, and indexing is cheap.
 */
const surrogate = /[\ud800-\udfff]/;

export const lengthOfText = (text: string): number => (surrogate.test(text) ? Array.from(text).length : text.length);

/** From the code point `start` (inclusive) to `end` (exclusive). */
export const sliceText = (text: string, start: number, end?: number): string =>
  surrogate.test(text) ? Array.from(text).slice(start, end).join('') : text.slice(start, end);

/** The UTF-16 offset of the code point `index`. */
export const unitAt = (text: string, index: number): number => sliceText(text, 0, index).length;

/** The code point index of a UTF-16 offset; -1 is returned unchanged. */
export const pointAt = (text: string, unit: number): number => (unit === -1 ? -1 : lengthOfText(text.slice(0, unit)));
