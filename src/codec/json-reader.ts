import { limits } from '../base/limits.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { joinPath } from '../schema/field-path.ts';
import { setOwn } from '../schema/own-property.ts';
import { positionIn } from './text-position.ts';

/** A parsed document, as sent by the client. */
export interface ParsedJson {
  /**
   * Integers beyond 2^53 are bigints. `__proto__` is an ordinary own property; code that copies objects must preserve that.
   */
  readonly value: unknown;
  /** Paths of duplicate fields, `spec.containers[0].name`; the last value wins. */
  readonly duplicates: readonly string[];
}

/**
 * A strict JSON parser (RFC 8259) that reports the position of errors and duplicate fields, and keeps integers exact.
 * Several times slower than JSON.parse, so it is only used if that is not sufficient.
 */
export function readJson(text: string, depthMax: number): ParsedJson {
  return new JsonReader(text, depthMax).document();
}

const whitespace = /[ \t\n\r]*/y;
const literal = /true|false|null/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const integerToken = /^-?\d+$/;
/** A string without escapes. */
const plainString = /"[^"\\\p{Cc}]*"/uy;
/** Valid string content, up to the closing quote or an error. */
const stringChars = /[^"\\\p{Cc}]+|[\u007f-\u009f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;

const literals: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

class JsonReader {
  readonly #text: string;
  readonly #depthMax: number;
  readonly #duplicates = new Set<string>();
  #at = 0;

  constructor(text: string, depthMax: number) {
    this.#text = text;
    this.#depthMax = depthMax;
  }

  document(): ParsedJson {
    this.#skipWhitespace();
    const value = this.#value('', 0);
    this.#skipWhitespace();
    if (this.#at < this.#text.length) throw this.#error('end of input after the value');
    return { value, duplicates: [...this.#duplicates] };
  }

  #value(path: string, depth: number): unknown {
    const char = this.#text[this.#at];
    if (char === '{') return this.#object(path, depth + 1);
    if (char === '[') return this.#array(path, depth + 1);
    return char === '"' ? this.#string() : this.#scalar();
  }

  #object(path: string, depth: number): Record<string, unknown> {
    this.#open(depth);
    const object: Record<string, unknown> = {};
    if (this.#take('}')) return object;
    let expected = 'a field name or "}"';
    do {
      this.#skipWhitespace();
      if (this.#text[this.#at] !== '"') throw this.#error(expected);
      const name = this.#string();
      const fieldPath = joinPath(path, name);
      if (Object.hasOwn(object, name)) this.#reportDuplicate(fieldPath);
      this.#skipWhitespace();
      if (!this.#take(':')) throw this.#error('":" after a field name');
      this.#skipWhitespace();
      setOwn(object, name, this.#value(fieldPath, depth));
      this.#skipWhitespace();
      expected = 'a field name';
    } while (this.#take(','));
    if (!this.#take('}')) throw this.#error('"," or "}" after a field');
    return object;
  }

  #reportDuplicate(path: string): void {
    if (this.#duplicates.size < limits.findingsMax) this.#duplicates.add(path);
  }

  #array(path: string, depth: number): unknown[] {
    this.#open(depth);
    const array: unknown[] = [];
    if (this.#take(']')) return array;
    do {
      this.#skipWhitespace();
      array.push(this.#value(`${path}[${array.length}]`, depth));
      this.#skipWhitespace();
    } while (this.#take(','));
    if (!this.#take(']')) throw this.#error('"," or "]" after an array element');
    return array;
  }

  #open(depth: number): void {
    if (depth > this.#depthMax) throw this.#error(`no more than ${this.#depthMax} levels of nesting`, '');
    this.#at++;
    this.#skipWhitespace();
  }

  #string(): string {
    const plain = this.#match(plainString);
    if (plain !== undefined) return plain.slice(1, -1);
    const start = this.#at++;
    while (this.#match(stringChars) !== undefined);
    if (this.#text[this.#at] === '\\') throw this.#error('an escape sequence such as \\n or \\u0000');
    if (!this.#take('"')) throw this.#error("a string that ends with '\"' and has no control characters");
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #scalar(): boolean | number | bigint | null {
    const word = this.#match(literal);
    if (word !== undefined) return literals[word] ?? null;
    const start = this.#at;
    const token = this.#match(numberToken);
    if (token === undefined) throw this.#error('a value');
    const number = Number(token);
    if (Number.isFinite(number)) {
      return Number.isSafeInteger(number) || !integerToken.test(token) ? number : BigInt(token);
    }
    this.#at = start;
    throw this.#error('a number in the range of a 64-bit float', '');
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #skipWhitespace(): void {
    this.#match(whitespace);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** `error decoding JSON: line 1 column 17: expected "," or "}" after a field, got end of input`. */
  #error(expected: string, got = `, got ${this.#next()}`): StatusError {
    return badRequest(`error decoding JSON: ${positionIn(this.#text, this.#at)}: expected ${expected}${got}`);
  }

  /** The next character, for an error message. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? 'end of input' : JSON.stringify(String.fromCodePoint(code));
  }
}
