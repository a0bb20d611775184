import { limits } from '../base/limits.ts';

/** A decoded block of a PEM text. */
export interface DecodedPem {
  /** For example `CERTIFICATE`. */
  readonly label: string;
  /** `Key: value` lines before the data: allowed by RFC 1421, not by RFC 7468 section 2. */
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const opening = '-----BEGIN ';
const closing = '-----END ';
const dashes = '-----';

/**
 * Decodes the blocks of a PEM text one after another. They are exactly the blocks that Go's `encoding/pem` finds, so
 * that the server checks what clients will read: a marker begins its line, headers are accepted, white space within the
 * data is ignored. All other text is skipped, blocks with any fault included. The time is linear in the text. Throws a
 * PemLimitError if markers and headers of more than `limits.pemLinesSkippedMax` lines stand before a block or after the last one.
 */
export function* decodePem(text: string): Generator<DecodedPem> {
  let end: ClosingLine | undefined;
  let skipped = new SkippedLines();
  for (let at = 0; ; ) {
    const begin = text.startsWith(opening, at) ? at : afterNewline(text, opening, at);
    if (begin === undefined) return;
    skipped.count();
    const first = lineAt(text, begin + opening.length);
    at = first.next;
    if (!first.line.endsWith(dashes)) continue;
    const dataAt = afterHeaders(text, at, skipped);
    if (dataAt === undefined) return;
    const hasHeaders = dataAt > at;
    at = dataAt;
    // Kept for the blocks that begin before it, and not searched again for each of them.
    if (end === undefined || end.at < at || (end.at === at && hasHeaders)) end = closingLine(text, at, hasHeaders);
    if (end === undefined) return;
    if (end.line !== first.line) continue;
    const bytes = decodeBase64(text, at, end.at);
    if (bytes === undefined) continue;
    at = end.next;
    skipped = new SkippedLines();
    yield { label: first.line.slice(0, -dashes.length), hasHeaders, bytes };
  }
}

/** A text in which blocks cannot be found in reasonable time. */
export class PemLimitError extends Error {
  override readonly name = 'PemLimitError';
}

/** Keeps the search for one block short: callers may pause between blocks only. */
class SkippedLines {
  #lines = 0;

  count(): void {
    if (++this.#lines > limits.pemLinesSkippedMax) {
      throw new PemLimitError(`more than ${limits.pemLinesSkippedMax} lines of headers and malformed PEM blocks`);
    }
  }
}

interface Line {
  /** Without the line break and without white space before it. */
  readonly line: string;
  /** Start of the next line. */
  readonly next: number;
}

interface ClosingLine extends Line {
  readonly at: number;
}

function lineAt(text: string, at: number): Line {
  const newline = text.indexOf('\n', at);
  if (newline < 0) return { line: withoutBlanks(text.slice(at)), next: text.length };
  const end = text[newline - 1] === '\r' && newline > at ? newline - 1 : newline;
  return { line: withoutBlanks(text.slice(at, end)), next: newline + 1 };
}

/** Without trailing spaces and tabs. A pattern would take quadratic time. */
function withoutBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return line.slice(0, end);
}

/** Start of the first line after position `at` that begins with `marker`. */
function afterNewline(text: string, marker: string, at: number): number | undefined {
  const newline = text.indexOf(`\n${marker}`, at);
  return newline < 0 ? undefined : newline + 1;
}

/** Start of the first line without a colon; undefined if the text ends before. */
function afterHeaders(text: string, at: number, skipped: SkippedLines): number | undefined {
  for (let start = at; start < text.length; ) {
    const { line, next } = lineAt(text, start);
    if (!line.includes(':')) return start;
    skipped.count();
    start = next;
  }
  return undefined;
}

/** The first end marker of any label. It may follow the begin marker immediately, but not a header. */
function closingLine(text: string, at: number, hasHeaders: boolean): ClosingLine | undefined {
  const found = !hasHeaders && text.startsWith(closing, at) ? at : afterNewline(text, closing, at);
  return found === undefined ? undefined : { at: found, ...lineAt(text, found + closing.length) };
}

const dataCharacters = /[A-Za-z0-9+/= \t\r\n]*/y;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Undefined unless all of the text in between is base64 with its padding. Stops at the first wrong character. */
function decodeBase64(text: string, at: number, end: number): Buffer | undefined {
  dataCharacters.lastIndex = at;
  dataCharacters.test(text);
  if (dataCharacters.lastIndex !== end) return undefined;
  const digits = text.slice(at, end).replaceAll(/[ \t\r\n]+/g, '');
  return digits.length % 4 === 0 && base64.test(digits) ? Buffer.from(digits, 'base64') : undefined;
}
