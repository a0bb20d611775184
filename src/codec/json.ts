import { asBuffer } from '../base/collections/byte-span.ts';
import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-characters.ts';
import { type ParsedJson, readJson } from './json-reader.ts';
import { positionIn } from './text-position.ts';
import { decodeUtf8 } from './utf8.ts';

export type { ParsedJson } from './json-reader.ts';

/** Nesting, and elements of all lists and objects together. Those of a request body are in `limits`. */
interface JsonBounds {
  readonly depthMax: number;
  readonly elementsMax: number;
}

/**
 * Parses JSON (RFC 8259): valid UTF-8, one value, nothing after it. Throws BadRequest with the position of the error and
 * what was expected; also for numbers that are not finite and for nesting and elements beyond the bounds.
 *
 * JSON.parse builds the value, unless a scan of the text or a check of the value shows that it cannot be trusted: it loses
 * duplicates and large integers, and gets some field names wrong (`countPlainFields`). `readJson` parses those documents.
 */
export function parseJson(bytes: Uint8Array, bounds: JsonBounds = limits): ParsedJson {
  const { depthMax, elementsMax } = bounds;
  const text = replaceHalves(decodeUtf8(bytes, 'JSON'));
  const { tooDeepAt, tooMany, fields, longNumbers } = scanJson(text, bounds);
  if (tooDeepAt !== undefined) throw tooDeep(text, tooDeepAt, depthMax);
  if (tooMany) throw badRequest(`error decoding JSON: more than ${elementsMax} elements in lists and objects`);
  if (!longNumbers) {
    const value = tryParse(text);
    if (value !== undefined && countPlainFields(value) === fields) return { value, duplicates: [] };
  }
  return readJson(text, depthMax);
}

/** An escape of half a surrogate pair. */
const half = /\\u[dD][89a-fA-F]/;
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/gs;
const halfLength = '\\ud800'.length;

/**
 * Replaces escapes of half a surrogate pair by one of U+FFFD, as Go's parser does: UTF-8 has no form for them, so that a
 * name with one would be another name in the store.
 */
const replaceHalves = (text: string): string =>
  half.test(text) ? text.replace(escapes, (each) => (each.length === halfLength ? '\\ufffd' : each)) : text;

/** The error of `readJson` for excessive nesting, without parsing up to that position. */
const tooDeep = (text: string, at: number, depthMax: number): StatusError =>
  badRequest(`error decoding JSON: ${positionIn(text, at)}: expected no more than ${depthMax} levels of nesting`);

/** Parses JSON that this server wrote, without checks. Integers beyond 2^53 are bigints. */
export function parseStored(bytes: Uint8Array): unknown {
  const text = asBuffer(bytes).toString();
  if (!longDigits.test(text)) {
    const value: unknown = JSON.parse(text);
    if (!text.includes('\\') || !hasBackslashField(value)) return value;
  }
  return readJson(text, Number.POSITIVE_INFINITY).value;
}

/** Not after a quote: resourceVersions of a copied store have 16 digits, and are strings. */
const longDigits = /(?<!["\d])\d{16}/;

/** Undefined if the text is not JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Result of scanning a document. For text that is not JSON it is meaningless, but the scan terminates. */
interface Scan {
  /** Position where nesting is too deep; the scan ends there. */
  readonly tooDeepAt: number | undefined;
  /** Lists and objects have too many elements; the scan ends there. */
  readonly tooMany: boolean;
  /** Number of fields of all objects, including duplicates. */
  readonly fields: number;
  /** True if a number may be inexact or not finite: 16 digits or more, or an exponent. */
  readonly longNumbers: boolean;
}

/** Checks both limits before parsing, so a document that exceeds one costs only a scan up to that position. */
function scanJson(text: string, { depthMax, elementsMax }: JsonBounds): Scan {
  // Counts a comma for each element but the last, and the opening bracket for the last; empty collections count as one.
  let [depth, fields, elements, longNumbers] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) at = endOfString(text, at);
    else if (char === colon) fields++;
    else if (char === comma) {
      if (++elements > elementsMax) return { tooDeepAt: undefined, tooMany: true, fields, longNumbers };
    } else if (char === openBrace || char === openBracket) {
      elements++;
      if (++depth > depthMax) return { tooDeepAt: at, tooMany: false, fields, longNumbers };
    } else if (char === closeBrace || char === closeBracket) depth--;
    else if (isDigit(char)) {
      const end = endOfDigits(text, at);
      longNumbers ||= end - at >= 16 || isExponentMark(text.charCodeAt(end));
      at = end - 1;
    }
  }
  return { tooDeepAt: undefined, tooMany: elements > elementsMax, fields, longNumbers };
}

const isDigit = (char: number): boolean => char >= 48 && char <= 57;
/** `e` or `E`. */
const isExponentMark = (char: number): boolean => (char | 32) === 101;

/** Position of the closing quote of the string that starts at `start`; the end of the text if unterminated. */
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
 * The number of fields, at any depth, whose name has no backslash. It equals the number in the text unless there are
 * duplicates or names with a backslash, or V8 has read a name wrong: after parsing an object with a field `a\`, it reads
 * `"a\""` at the same position of another object as `a\` too (V8 12.8 to 14.6 at least; nodejs/node#63785). A client could
 * corrupt objects of other clients with that.
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

/** True if V8 may have read the name of a field wrong; see `countPlainFields`. */
function hasBackslashField(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashField);
  for (const name in value) {
    if (name.includes('\\') || hasBackslashField((value as Record<string, unknown>)[name])) return true;
  }
  return false;
}

/**
 * Encodes an object for the store (see `insertResourceVersion`): `kind`, `apiVersion` and `metadata` first, no
 * resourceVersion. Throws if metadata would be empty: no object is stored without a name.
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

/** True if the fields are in stored order, as they usually are after decoding. */
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

/** JSON text of a value that may contain bigints; `pretty` indents it, with one field per line. */
export const stringifyJson = (value: unknown, options: { readonly pretty?: boolean } = {}): string =>
  jsonText(value, options.pretty ? 2 : 0);
