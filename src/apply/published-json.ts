import { isRecord } from '../schema/own-property.ts';

/**
 * JSON text as published servers write it: fields sorted by name, and `<`, `>`, `&` and line separators escaped. One
 * value has one text, whatever the order its fields came in, so texts can be compared in place of values.
 */
export function publishedJson(value: unknown): string {
  if (typeof value === 'string') return publishedString(value);
  if (Array.isArray(value)) return `[${value.map(publishedJson).join(',')}]`;
  if (isRecord(value)) {
    const names = Object.keys(value).sort(compareText);
    return `{${names.map((name) => `${publishedString(name)}:${publishedJson(value[name])}`).join(',')}}`;
  }
  // Bigints have the text of their number; JSON.stringify refuses them. -0 is 0.
  return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
}

const plain = /^[^"\\<>&\u2028\u2029\p{Cc}\p{Cs}]*$/u;
const escapes = /\\.|[<>&\u2028\u2029]/g;

function publishedString(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text).replaceAll(escapes, publishedEscape);
}

/** `char` may be an escape sequence already. */
function publishedEscape(char: string): string {
  if (char.startsWith('\\')) {
    // The engine writes these two in their short forms, published servers by number.
    return char === '\\b' ? '\\u0008' : char === '\\f' ? '\\u000c' : char;
  }
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

/** The order of the UTF-8 bytes, which published servers sort by; that of UTF-16 differs where the first difference is past U+FFFF. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x === y) continue;
    if (isSurrogate(x) || isSurrogate(y)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
    return x < y ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}
