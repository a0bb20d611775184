import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { internalError } from '../meta/status-error.ts';
import { readJson } from './json-reader.ts';
import { asBuffer, decodeUtf8 } from './utf8.ts';

/** A document as the client sent it. */
export interface ParsedJson {
  /**
   * Integers past 2^53 are bigints. `__proto__` is a property like any other; whoever copies objects must keep it one.
   */
  readonly value: unknown;
  /** Paths of fields that stood twice in one object, `spec.containers[0].name`; the last one counts. */
  readonly duplicates: readonly string[];
}

/**
 * Reads JSON as RFC 8259 has it: valid UTF-8, one value, nothing after it. Throws BadRequest that says where the
 * document is wrong and what was expected there; also for numbers that no finite number can hold, and for nesting past
 * `limits.depthMax`.
 *
 * The engine's own parser makes the value. A scan of the text before it finds what that parser doesn't tell: depth,
 * duplicates and big numbers. Only where there are any, or where the text is wrong, it is read again slowly.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const text = decodeUtf8(bytes, 'JSON');
  const { depth, fields, longNumbers } = scanJson(text);
  const value = depth > limits.depthMax ? undefined : tryParse(text, longNumbers);
  if (value === undefined) {
    const { duplicates } = readJson(text);
    throw internalError(new Error(`the strict reader found nothing wrong, and ${duplicates.length} duplicates`));
  }
  return { value, duplicates: countFields(value) === fields ? [] : readJson(text).duplicates };
}

/** Reads JSON that this server wrote itself, so without checks. Integers past 2^53 are bigints. */
export function parseStored(bytes: Uint8Array): unknown {
  const text = asBuffer(bytes).toString();
  return longDigits.test(text) ? JSON.parse(text, reviveNumber as Reviver) : JSON.parse(text);
}

const longDigits = /\d{16}/;

/** Undefined where the text is not JSON, or has a number that is not finite. */
function tryParse(text: string, longNumbers: boolean): unknown {
  try {
    return longNumbers ? JSON.parse(text, reviveNumber as Reviver) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Reviver = (key: string, value: unknown) => unknown;

const integerToken = /^-?\d+$/;

/** The third argument of a reviver has the text of a primitive value. */
function reviveNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  if (!Number.isFinite(value)) throw new RangeError('not a finite number');
  const source = context.source ?? '';
  return integerToken.test(source) ? BigInt(source) : value;
}

/** What a scan of JSON text finds; of text that is not JSON it means nothing, but comes to an end. */
interface Scan {
  readonly depth: number;
  /** Fields of all objects, each time they stand there. */
  readonly fields: number;
  /** There are numbers that may not be exact or finite: 16 characters and more, or an exponent. */
  readonly longNumbers: boolean;
}

const quote = 34;
const colon = 58;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

function scanJson(text: string): Scan {
  let [depth, depthMax, fields, longNumbers] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) at = endOfString(text, at);
    else if (char === colon) fields++;
    else if (char === openBrace || char === openBracket) depthMax = Math.max(depthMax, ++depth);
    else if (char === closeBrace || char === closeBracket) depth--;
    else if (isDigit(char)) {
      const end = endOfDigits(text, at);
      longNumbers ||= end - at >= 16 || isExponentMark(text.charCodeAt(end));
      at = end - 1;
    }
  }
  return { depth: depthMax, fields, longNumbers };
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

/** Fields of all objects within a value. Fewer than the text had where one stood twice. */
function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const element of value) count += countFields(element);
  else for (const name in value) count += 1 + countFields((value as Record<string, unknown>)[name]);
  return count;
}

/**
 * The bytes of an object as the store holds it (see `insertResourceVersion`): `kind`, `apiVersion` and `metadata` first,
 * no resourceVersion. Throws where metadata would be empty: no object is stored without a name.
 */
export function encodeObject(object: ApiObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  if (Object.keys(kept).length === 0) throw new TypeError('an object without metadata cannot be stored');
  return Buffer.from(stringifyJson({ kind, apiVersion, metadata: kept, ...rest }));
}

/** JSON text of a value that may hold bigints; `pretty` puts each field on a line of its own. */
export const stringifyJson = (value: unknown, options: { readonly pretty?: boolean } = {}): string =>
  jsonText(value, options.pretty ? 2 : 0);
