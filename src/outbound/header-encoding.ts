/** Whether a header can carry the text as one word, as it does tokens. */
export const fitsHeader = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

/** Encodes text as UTF-8 in the form that Node expects: one Latin-1 character per byte. */
export const encodeHeaderText = (text: string): string => Buffer.from(text).toString('latin1');
