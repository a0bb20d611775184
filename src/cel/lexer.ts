import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
import { CelCompileError, type CelPosition } from './error.ts';
import { readLiteralText, type StringLiteral } from './string-literal.ts';

/** One token of a source. */
export type Token =
  | { readonly kind: 'ident'; readonly at: number; readonly text: string }
  | { readonly kind: 'int' | 'uint' | 'double'; readonly at: number; readonly text: string }
  | { readonly kind: 'string'; readonly at: number; readonly text: string; readonly literal: StringLiteral }
  | { readonly kind: 'sign'; readonly at: number; readonly text: string }
  | { readonly kind: 'end'; readonly at: number; readonly text: '' };

const blank = /(?:[\t\n\f\r ]+|\/\/[^\n]*)+/y;
const ident = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const double = /(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)/y;
const integer = /0[xX][0-9a-fA-F]+|[0-9]+/y;
const sign = /&&|\|\||[=!<>]=|[-+*/%<>!?:.,()[\]{}]/y;
const quote = /(?:[rR][bB]?|[bB][rR]?)?(?:"""|'''|"|')/y;

/** All tokens, followed by an end token, with pauses in a long source. Throws CelCompileError for an invalid token. */
export function* tokenize(source: string): Steps<readonly Token[]> {
  const tokens: Token[] = [];
  let at = skipBlank(source, 0);
  while (at < source.length) {
    const token = readToken(source, at);
    tokens.push(token);
    if (tokens.length % limits.celPartsPerStep === 0) yield;
    at = skipBlank(source, at + token.text.length);
  }
  tokens.push({ kind: 'end', at, text: '' });
  return tokens;
}

const skipBlank = (source: string, at: number): number => at + (matchAt(blank, source, at)?.length ?? 0);

function readToken(source: string, at: number): Token {
  if (matchAt(quote, source, at) !== undefined) return readString(source, at);
  const word = matchAt(ident, source, at);
  if (word !== undefined) return { kind: 'ident', at, text: word };
  const fraction = matchAt(double, source, at);
  if (fraction !== undefined) return { kind: 'double', at, text: fraction };
  const whole = matchAt(integer, source, at);
  if (whole !== undefined) return readInteger(source, at, whole);
  const mark = matchAt(sign, source, at);
  if (mark !== undefined) return { kind: 'sign', at, text: mark };
  throw errorAt(source, at, `unexpected ${JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0))}`);
}

function readInteger(source: string, at: number, digits: string): Token {
  const suffix = source[at + digits.length];
  if (suffix === 'u' || suffix === 'U') return { kind: 'uint', at, text: digits + suffix };
  return { kind: 'int', at, text: digits };
}

function readString(source: string, at: number): Token {
  const opening = matchAt(quote, source, at) ?? '';
  const read = readLiteralText(source, at, opening);
  if ('wrong' in read) throw errorAt(source, read.at, read.wrong);
  return { kind: 'string', at, text: source.slice(at, read.end), literal: read.literal };
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** Positions of offsets in ascending order. */
export function positionsOf(source: string, offsets: readonly number[]): readonly CelPosition[] {
  let [line, lineStart, lineEnd] = [1, 0, source.indexOf('\n')];
  return offsets.map((at) => {
    while (lineEnd !== -1 && lineEnd < at) {
      line++;
      lineStart = lineEnd + 1;
      lineEnd = source.indexOf('\n', lineStart);
    }
    return { line, column: at - lineStart + 1 };
  });
}

export const errorAt = (source: string, at: number, reason: string): CelCompileError =>
  new CelCompileError(reason, positionsOf(source, [at])[0]);
