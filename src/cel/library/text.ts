/**
 * Strings of CEL are sequences of code points; those of JavaScript of UTF-16 units. Where a string has no surrogates both
 * are the same, and cheap.
 */
const surrogate = /[\ud800-\udfff]/;

export const lengthOfText = (text: string): number => (surrogate.test(text) ? Array.from(text).length : text.length);

/** From the code point `start` up to the one `end`. */
export const sliceText = (text: string, start: number, end?: number): string =>
  surrogate.test(text) ? Array.from(text).slice(start, end).join('') : text.slice(start, end);

/** The offset in units of the code point `index`. */
export const unitAt = (text: string, index: number): number => sliceText(text, 0, index).length;

/** The index of the code point at an offset in units; -1 stays. */
export const pointAt = (text: string, unit: number): number => (unit === -1 ? -1 : lengthOfText(text.slice(0, unit)));
