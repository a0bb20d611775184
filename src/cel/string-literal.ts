/** A string or bytes literal: langdef, "String and Bytes Values". */
export type StringLiteral =
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'bytes'; readonly value: Uint8Array };

type Read = { readonly literal: StringLiteral; readonly end: number } | { readonly wrong: string; readonly at: number };

/** Reads the literal that begins at `start` with `opening`: its prefix and quotes. */
export function readLiteralText(source: string, start: number, opening: string): Read {
  const prefix = opening.replace(/['"]/g, '').toLowerCase();
  const quotes = opening.slice(prefix.length);
  const [raw, bytes] = [prefix.includes('r'), prefix.includes('b')];
  const from = start + opening.length;
  const to = endOf(source, from, quotes, raw);
  if (to === undefined) return { wrong: 'a string that does not end', at: start };
  const body = source.slice(from, to).replace(/\r\n?/g, '\n');
  const parts = raw ? [body] : pieces(body, bytes);
  if ('wrong' in parts) return { wrong: parts.wrong, at: from };
  const literal: StringLiteral = bytes
    ? { kind: 'bytes', value: bytesOf(parts) }
    : {
        kind: 'string',
        value: parts.map((part) => (typeof part === 'number' ? String.fromCodePoint(part) : part)).join(''),
      };
  return { literal, end: to + quotes.length };
}

/**
 * The offset of the closing quotes; undefined if there are none, or if a single-quoted literal extends beyond its line.
 */
function endOf(source: string, from: number, quotes: string, raw: boolean): number | undefined {
  for (let at = from; at < source.length; at++) {
    if (source.startsWith(quotes, at)) return at;
    const char = source[at];
    if (quotes.length === 1 && (char === '\n' || char === '\r')) return undefined;
    if (char === '\\' && !raw) at++;
  }
  return undefined;
}

const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  "'": "'",
  '"': '"',
  '`': '`',
};

const escapeSequence =
  /\\(?:([abfnrtv\\?'"`])|[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

/** The parts of a literal's body: text, and numbers, which are bytes in a bytes literal and code points in a string. */
function pieces(body: string, bytes: boolean): (string | number)[] | { readonly wrong: string } {
  const parts: (string | number)[] = [];
  let at = 0;
  while (at < body.length) {
    const next = body.indexOf('\\', at);
    if (next === -1) break;
    parts.push(body.slice(at, next));
    escapeSequence.lastIndex = next;
    const match = escapeSequence.exec(body);
    if (match === null) return { wrong: `no escape sequence: ${body.slice(next, next + 2)}` };
    const [whole, char, hex, octal, short, long] = match;
    const point = short ?? long;
    if (char !== undefined) parts.push(simple[char] ?? '');
    else if (point === undefined)
      parts.push(hex === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(hex, 16));
    else if (bytes || !isScalar(Number.parseInt(point, 16))) return { wrong: `no escape sequence here: ${whole}` };
    else parts.push(Number.parseInt(point, 16));
    at = next + whole.length;
  }
  parts.push(body.slice(at));
  return parts;
}

const isScalar = (point: number): boolean => point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);

const bytesOf = (parts: readonly (string | number)[]): Uint8Array =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part)))),
  );
