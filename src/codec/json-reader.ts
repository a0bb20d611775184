import { limits } from '../base/limits.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { joinPath } from '../schema/field-path.ts';
import { positionIn } from './text-position.ts';

/**
 * A strict reader of JSON text that makes no value: it finds the first place where a text is not JSON, and fields that
 * stand twice. Slower than the engine's parser, and used where that parser has not enough to say.
 */
export function readJson(text: string): { readonly duplicates: readonly string[] } {
  const reader = new JsonReader(text);
  reader.document();
  return { duplicates: [...reader.duplicates] };
}

const whitespace = /[ \t\n\r]*/y;
const literal = /true|false|null/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Up to where a string stops being one. */
const stringChars = /[^"\\\p{Cc}]+|[\u007f-\u009f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;

class JsonReader {
  readonly #text: string;
  #at = 0;
  readonly duplicates = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#skipWhitespace();
    this.#value('', 0);
    this.#skipWhitespace();
    if (this.#at < this.#text.length) throw this.#error('end of input after the value');
  }

  #value(path: string, depth: number): void {
    const char = this.#text[this.#at];
    if (char === '{') this.#object(path, depth + 1);
    else if (char === '[') this.#array(path, depth + 1);
    else if (char === '"') this.#string();
    else this.#scalar();
  }

  #object(path: string, depth: number): void {
    this.#open(depth);
    const seen = new Set<string>();
    if (this.#take('}')) return;
    do {
      this.#skipWhitespace();
      if (this.#text[this.#at] !== '"') throw this.#error(seen.size === 0 ? 'a field name or "}"' : 'a field name');
      const name = this.#string();
      const fieldPath = joinPath(path, name);
      if (seen.has(name) && this.duplicates.size < limits.findingsMax) this.duplicates.add(fieldPath);
      seen.add(name);
      this.#skipWhitespace();
      if (!this.#take(':')) throw this.#error('":" after a field name');
      this.#skipWhitespace();
      this.#value(fieldPath, depth);
      this.#skipWhitespace();
    } while (this.#take(','));
    if (!this.#take('}')) throw this.#error('"," or "}" after a field');
  }

  #array(path: string, depth: number): void {
    this.#open(depth);
    if (this.#take(']')) return;
    let index = 0;
    do {
      this.#skipWhitespace();
      this.#value(`${path}[${index++}]`, depth);
      this.#skipWhitespace();
    } while (this.#take(','));
    if (!this.#take(']')) throw this.#error('"," or "]" after an array element');
  }

  #open(depth: number): void {
    if (depth > limits.depthMax) throw this.#error(`no more than ${limits.depthMax} levels of nesting`, '');
    this.#at++;
    this.#skipWhitespace();
  }

  #string(): string {
    const start = this.#at++;
    while (this.#match(stringChars) !== undefined);
    if (this.#text[this.#at] === '\\') throw this.#error('an escape sequence such as \\n or \\u0000');
    if (!this.#take('"')) throw this.#error("a string that ends with '\"' and has no control characters");
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #scalar(): void {
    if (this.#match(literal) !== undefined) return;
    const start = this.#at;
    const token = this.#match(numberToken);
    if (token === undefined) throw this.#error('a value');
    if (Number.isFinite(Number(token))) return;
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

  /** What stands here, for a message. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? 'end of input' : JSON.stringify(String.fromCodePoint(code));
  }
}
