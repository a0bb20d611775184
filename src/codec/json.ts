import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-characters.ts';
import { type ParsedJson, readJson } from './json-reader.ts';
import { positionIn } from './text-position.ts';
import { asBuffer, decodeUtf8 } from './utf8.ts';

export type { ParsedJson } from './json-reader.ts';

/**
 * Reads JSON as RFC 8259 has it: valid UTF-8, one value, nothing after it. Throws BadRequest that says where the
 * document is wrong and what was expected there; also for numbers that no finite number can hold, and for nesting past
 * `limits.depthMax`.
 *
 * The engine's own parser makes the value, as long as a scan of the text and a look at the value say that it can be
 * trusted with it: it keeps no duplicates and no great numbers, and gets some names of fields wrong (`countPlainFields`).
 * The rest is read by `readJson`.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const text = decodeUtf8(bytes, 'JSON');
  const { tooDeepAt, tooMany, fields, longNumbers } = scanJson(text);
  if (tooDeepAt !== undefined) throw tooDeep(text, tooDeepAt);
  if (tooMany) throw badRequest(`error decoding JSON: more than ${limits.elementsMax} elements in lists and objects`);
  if (!longNumbers) {
    const value = tryParse(text);
    if (value !== undefined && countPlainFields(value) === fields) return { value, duplicates: [] };
  }
  return readJson(text, limits.depthMax);
}

/** Says where a document is nested too deep, as `readJson` would, without reading what stands before. */
const tooDeep = (text: string, at: number): StatusError =>
  badRequest(
    `error decoding JSON: ${positionIn(text, at)}: expected no more than ${limits.depthMax} levels of nesting`,
  );

/** Reads JSON that this server wrote itself: no checks. Integers past 2^53 are bigints. */
export function parseStored(bytes: Uint8Array): unknown {
  const text = asBuffer(bytes).toString();
  if (!longDigits.test(text)) {
    const value: unknown = JSON.parse(text);
    if (!text.includes('\\') || !hasBackslashField(value)) return value;
  }
  return readJson(text, Number.POSITIVE_INFINITY).value;
}

/** Not right behind a quote: versions of a copied store have 16 digits, and are text. */
const longDigits = /(?<!["\d])\d{16}/;

/** Undefined where the text is not JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a scan of a document finds; of one that is not JSON it means nothing, but comes to an end. */
interface Scan {
  /** Where nesting passes `limits.depthMax`; the scan ends there. */
  readonly tooDeepAt: number | undefined;
  /** Lists and objects have more than `limits.elementsMax` elements; the scan ends there. */
  readonly tooMany: boolean;
  /** Fields of all objects, each time they stand there. */
  readonly fields: number;
  /** There are numbers that may not be exact or finite: 16 digits and more, or an exponent. */
  readonly longNumbers: boolean;
}

/** Finds both bounds before anything is parsed: a document past one costs no more than being looked at up to there. */
function scanJson(text: string): Scan {
  // Elements are what a comma follows, and the last ones.
  let [depth, fields, elements, longNumbers] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) at = endOfString(text, at);
    else if (char === colon) fields++;
    else if (char === comma) {
      if (++elements > limits.elementsMax) return { tooDeepAt: undefined, tooMany: true, fields, longNumbers };
    } else if (char === openBrace || char === openBracket) {
      elements++;
      if (++depth > limits.depthMax) return { tooDeepAt: at, tooMany: false, fields, longNumbers };
    } else if (char === closeBrace || char === closeBracket) depth--;
    else if (isDigit(char)) {
      const end = endOfDigits(text, at);
      longNumbers ||= end - at >= 16 || isExponentMark(text.charCodeAt(end));
      at = end - 1;
    }
  }
  return { tooDeepAt: undefined, tooMany: elements > limits.elementsMax, fields, longNumbers };
}

const isDigit = (char: number): boolean => char >= 48 && char <= 57;
/** `e` or `E`. */
const isExponentMark = (char: number): boolean => (char | 32) === 101;

/** Where the string that begins at `start` ends; the end of the text where it doesn't. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === backslash) escapes--;
    if ((end - escapes) % 2 === 0) return end;
  }
  return text.length;
}

function endOfDigits(text: string, start: number): number {
  let end = start + 1;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}

/**
 * Fields of all objects within a value whose names have no backslash. As many as the text had, unless one stood twice, or
 * has a backslash, or the engine gave it one: once it has read an object with a field `a\`, it reads `"a\""` at the same
 * place of another as `a\` too (V8 12.8 to 14.6 at least; nodejs/node#63785). Clients could so change the objects of others.
 */
function countPlainFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const element of value) count += countPlainFields(element);
  else {
    for (const name in value) {
      count += (name.includes('\\') ? 0 : 1) + countPlainFields((value as Record<string, unknown>)[name]);
    }
  }
  return count;
}

/** True where the engine may have read the name of a field wrong; see `countPlainFields`. */
function hasBackslashField(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashField);
  for (const name in value) {
    if (name.includes('\\') || hasBackslashField((value as Record<string, unknown>)[name])) return true;
  }
  return false;
}

/**
 * The bytes of an object as the store holds it (see `insertResourceVersion`): `kind`, `apiVersion` and `metadata` first,
 * no resourceVersion. Throws where metadata would be empty: no object is stored without a name.
 */
export function encodeObject(object: ApiObject): Buffer {
  const { metadata } = object;
  const kept = metadata.resourceVersion === undefined ? metadata : withoutVersion(metadata);
  if (isEmptyRecord(kept)) throw new TypeError('an object without metadata cannot be stored');
  return Buffer.from(stringifyJson(kept === metadata && isOrdered(object) ? object : ordered(object, kept)));
}

function withoutVersion({ resourceVersion: _, ...kept }: ApiObject['metadata']): ApiObject['metadata'] {
  return kept;
}

function ordered({ kind, apiVersion, metadata: _, ...rest }: ApiObject, metadata: ApiObject['metadata']): ApiObject {
  return { kind, apiVersion, metadata, ...rest };
}

const firstFields = ['kind', 'apiVersion', 'metadata'];

/** As decoding leaves most objects. */
function isOrdered(object: ApiObject): boolean {
  let at = 0;
  for (const name in object) {
    if (name !== firstFields[at]) return false;
    if (++at === firstFields.length) return true;
  }
  return false;
}

function isEmptyRecord(record: object): boolean {
  for (const _ in record) return false;
  return true;
}

/** JSON text of a value that may hold bigints; `pretty` puts each field on a line of its own. */
export const stringifyJson = (value: unknown, options: { readonly pretty?: boolean } = {}): string =>
  jsonText(value, options.pretty ? 2 : 0);
