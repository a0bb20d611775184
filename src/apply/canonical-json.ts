import { isRecord } from '../schema/own-property.ts';

/**
 * JSON in the format of Go's encoding/json, as kube-apiserver writes it: fields sorted by name; `<`, `>`, `&` and line
 * separators escaped. Canonical: equal values have equal texts.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return canonicalString(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const names = Object.keys(value).sort(compareText);
    return `{${names.map((name) => `${canonicalString(name)}:${canonicalJson(value[name])}`).join(',')}}`;
  }
  // JSON.stringify rejects bigints, and writes -0 as 0.
  return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
}

const plain = /^[^"\\<>&\u2028\u2029\p{Cc}\p{Cs}]*$/u;
const escapes = /\\.|[<>&\u2028\u2029]/g;

function canonicalString(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text).replaceAll(escapes, canonicalEscape);
}

/** `char` may also be an escape sequence. */
function canonicalEscape(char: string): string {
  if (char.startsWith('\\')) {
    // JSON.stringify writes these two in short form, Go as \u escapes.
    return char === '\\b' ? '\\u0008' : char === '\\f' ? '\\u000c' : char;
  }
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

/** The order of UTF-8 bytes, in which Go sorts strings; UTF-16 order differs where a character is above U+FFFF. */
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
