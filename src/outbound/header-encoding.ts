/** True for what a header can carry as one word, as tokens are. */
export const fitsHeader = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

/** Headers carry bytes, which the engine takes as characters of Latin-1; ours are those of UTF-8. */
export const encodeHeaderText = (text: string): string => Buffer.from(text).toString('latin1');
