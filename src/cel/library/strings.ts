import { CelFault } from '../fault.ts';
import { costPerCharacter, type Meter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, bytesType, dynType, intType, listType, mapType, paramType, stringType } from '../type.ts';
import { type CelList, type CelMap, typeNameOf } from '../value.ts';
import { format } from './format.ts';
import { lengthOfText, pointAt, sliceText, unitAt } from './text.ts';

const traversal = (text: string): number => Math.ceil(text.length * costPerCharacter);
/** Cost of a function that scans one text and builds another. */
const twoTraversals = (text: string): number => Math.ceil(text.length * 2 * costPerCharacter);
const containsCost = (text: string, part: string): number => traversal(text) * traversal(part);
const free = (): number => 0;
const affixCost = (_: string, affix: string): number => traversal(affix);

function indexOf(text: string, part: string, from = 0n): bigint {
  const length = lengthOfText(text);
  if (from < 0n || (from > length && part !== '')) throw new CelFault('index out of range');
  return BigInt(pointAt(text, text.indexOf(part, unitAt(text, Number(from)))));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const length = lengthOfText(text);
  if (from === undefined) return BigInt(pointAt(text, text.lastIndexOf(part)));
  if (from < 0n || from > length) throw new CelFault('index out of range');
  return BigInt(pointAt(text, text.lastIndexOf(part, unitAt(text, Number(from)))));
}

function substring(text: string, start: bigint, end?: bigint): string {
  const length = BigInt(lengthOfText(text));
  const to = end ?? length;
  if (start < 0n || start > length || to < start || to > length) throw new CelFault('index out of range');
  return sliceText(text, Number(start), Number(to));
}

function charAt(text: string, index: bigint, meter: Meter): string {
  meter.spendExcess(text.length);
  if (index < 0n || index > lengthOfText(text)) throw new CelFault('index out of range');
  return sliceText(text, Number(index), Number(index) + 1);
}

/** The parts between separators, at most `limit`; the last part contains the rest. */
function split(text: string, separator: string, limit: bigint): CelList {
  if (limit === 0n) return [];
  const all = separator === '' ? Array.from(text) : text.split(separator);
  if (limit < 0n || all.length <= limit) return all;
  const kept = Number(limit) - 1;
  return [...all.slice(0, kept), all.slice(kept).join(separator)];
}

/**
 * Replaces the first `limit` occurrences, all if it is negative; an empty `from` matches before and after every
 * character.
 */
function replace(text: string, from: string, to: string, limit: bigint, meter: Meter): string {
  if (limit === 0n) return text;
  const pieces = from === '' ? ['', ...Array.from(text), ''] : text.split(from);
  const count = limit < 0n ? pieces.length - 1 : Math.min(pieces.length - 1, Number(limit));
  // The price covers a result that is twice as long as the text.
  meter.spend(Math.floor(Math.max(0, count * to.length - text.length) * costPerCharacter));
  return (
    pieces.slice(0, count + 1).join(to) + (count + 1 < pieces.length ? from : '') + pieces.slice(count + 1).join(from)
  );
}

function join(list: CelList, separator: string, meter: Meter): string {
  let length = 0;
  for (const element of list) {
    if (typeof element !== 'string') throw new CelFault(`no such overload: join of ${typeNameOf(element)}`);
    length += element.length;
  }
  const result = length + Math.max(0, list.length - 1) * separator.length;
  // Empty elements are not for nothing.
  meter.spendTraversal(Math.max(2 * result, list.length));
  return list.join(separator);
}

const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upper = (text: string): string => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
const trim = (text: string): string =>
  text.replace(/^[\p{White_Space}]+/u, '').replace(/(?<![\p{White_Space}])[\p{White_Space}]+$/u, '');

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

const quote = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are escaped
  `"${text.toWellFormed().replace(/[\x07-\r\\"]/g, (char) => escapes[char] ?? char)}"`;

const [S, I, listOfStrings] = [stringType, intType, listType(stringType)];
const listOfAny = listType(paramType('T'));
const mapOfAny = mapType(paramType('K'), paramType('V'));

const size = [
  [
    'size',
    [S],
    (text: string, meter: Meter) => {
      meter.spendExcess(text.length);
      return BigInt(lengthOfText(text));
    },
  ],
  ['size', [bytesType], (bytes: Uint8Array) => BigInt(bytes.length)],
  ['size', [listOfAny], (list: CelList) => BigInt(list.length)],
  ['size', [mapOfAny], (map: CelMap) => BigInt(map.size)],
] as const;

/** The language's string functions, and version 2 of the string extension of kube-apiserver. */
export const strings = [
  ...size.flatMap(([name, params, run]) => [define(name, params, I, run), defineMethod(name, params, I, run)]),
  defineMethod('contains', [S, S], boolType, (text: string, part: string) => text.includes(part), containsCost),
  defineMethod('startsWith', [S, S], boolType, (text: string, part: string) => text.startsWith(part), affixCost),
  defineMethod('endsWith', [S, S], boolType, (text: string, part: string) => text.endsWith(part), affixCost),
  defineMethod('charAt', [S, I], S, charAt),
  defineMethod('indexOf', [S, S], I, (text: string, part: string) => indexOf(text, part), traversal),
  defineMethod(
    'indexOf',
    [S, S, I],
    I,
    (text: string, part: string, from: bigint) => indexOf(text, part, from),
    traversal,
  ),
  defineMethod('lastIndexOf', [S, S], I, (text: string, part: string) => lastIndexOf(text, part), traversal),
  defineMethod(
    'lastIndexOf',
    [S, S, I],
    I,
    (text: string, part: string, from: bigint) => lastIndexOf(text, part, from),
    traversal,
  ),
  defineMethod('lowerAscii', [S], S, lower, traversal),
  defineMethod('upperAscii', [S], S, upper, traversal),
  defineMethod('trim', [S], S, trim, traversal),
  defineMethod('substring', [S, I], S, (text: string, start: bigint) => substring(text, start), traversal),
  defineMethod(
    'substring',
    [S, I, I],
    S,
    (text: string, start: bigint, end: bigint) => substring(text, start, end),
    traversal,
  ),
  defineMethod(
    'split',
    [S, S],
    listOfStrings,
    (text: string, separator: string) => split(text, separator, -1n),
    twoTraversals,
  ),
  defineMethod('split', [S, S, I], listOfStrings, split, twoTraversals),
  defineMethod(
    'replace',
    [S, S, S],
    S,
    (text: string, from: string, to: string, meter: Meter) => replace(text, from, to, -1n, meter),
    twoTraversals,
  ),
  defineMethod('replace', [S, S, S, I], S, replace, twoTraversals),
  defineMethod('join', [listOfStrings], S, (list: CelList, meter: Meter) => join(list, '', meter), free),
  defineMethod('join', [listOfStrings, S], S, join, free),
  defineMethod('format', [S, listType(dynType)], S, format, traversal),
  define('strings.quote', [S], S, quote, traversal),
];
