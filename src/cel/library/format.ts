import { limits } from '../../base/limits.ts';
import { CelFault } from '../fault.ts';
import type { Meter } from '../meter.ts';
import type { CelType } from '../type.ts';
import {
  CelDuration,
  type CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
  typeNameOf,
} from '../value.ts';
import { doubleText } from './conversions.ts';
import { durationText, timestampText } from './timestamp-text.ts';

/** `text.format(args)`: the verbs %s %d %f %e %b %o %x %X, of which %f and %e may have a precision, and %%. */
export function format(template: string, args: CelList, meter: Meter): string {
  let next = 0;
  const parts: string[] = [];
  for (const { text, clause } of clausesOf(template)) {
    parts.push(text);
    if (!clause) continue;
    const value = args[next];
    if (value === undefined) throw new CelFault(`index ${next} out of range`);
    next++;
    const written = writers[clause.verb](value, clause.precision, meter);
    meter.spendTraversal(Math.max(0, written.length - lengthCovered));
    parts.push(written);
  }
  return parts.join('');
}

interface FormatProblem {
  readonly reason: string;
  /** Index of the argument that it is about. */
  readonly argument?: number;
}

/** What is wrong with a template for arguments of these types, or undefined; `dyn` can be anything. */
export function formatProblem(template: string, types: readonly CelType[]): FormatProblem | undefined {
  let next = 0;
  try {
    for (const { clause } of clausesOf(template)) {
      if (!clause) continue;
      const type = types[next];
      if (type === undefined) return { reason: `index ${next} out of range` };
      const argument = next++;
      const { kinds, problem } = accepted[clause.verb];
      const fits = kinds.has(type.kind) || type.kind === 'dyn' || type.kind === 'param';
      if (!fits) return { argument, reason: `error during formatting: ${problem}, was given ${shortName(type)}` };
    }
  } catch (error) {
    if (error instanceof CelFault) return { reason: error.reason };
    throw error;
  }
  return next < types.length
    ? { reason: `too many arguments supplied to string.format (expected ${next}, got ${types.length})` }
    : undefined;
}

/** As `type()` gives it. */
function shortName(type: CelType): string {
  switch (type.kind) {
    case 'duration':
      return 'google.protobuf.Duration';
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'optional':
      return 'optional_type';
    default:
      return 'name' in type ? type.name : type.kind;
  }
}

/** Characters of a value that the price of a call covers, as in kube-apiserver. */
const lengthCovered = 1_000;

interface Clause {
  readonly verb: Verb;
  readonly precision: number;
}

interface Piece {
  /** Before the clause. */
  readonly text: string;
  readonly clause?: Clause;
}

function* clausesOf(template: string): Generator<Piece> {
  let at = 0;
  for (;;) {
    const percent = template.indexOf('%', at);
    if (percent === -1) break;
    const text = template.slice(at, percent);
    if (template[percent + 1] === '%') {
      yield { text: `${text}%` };
      at = percent + 2;
      continue;
    }
    const [whole, dot, digits = '', verb = ''] =
      /^%(\.?)([0-9]*)(.?)/su.exec(template.slice(percent, percent + 16)) ?? [];
    if (percent + 1 === template.length) throw new CelFault('unexpected end of string');
    if (dot === '' && digits !== '') throw unparsed(`unrecognized formatting clause "${digits[0]}"`);
    const precision = dot === '' ? defaultPrecision : Number(digits);
    if (precision > limits.celPrecisionMax) throw new CelFault(`format: precision above ${limits.celPrecisionMax}`);
    if (verb === '') throw unparsed(`${precisionProblem}: could not find end of precision specifier`);
    if (dot !== '' && digits === '') throw unparsed(`${precisionProblem}: ${notConverted}`);
    if (!isVerb(verb)) throw unparsed(`unrecognized formatting clause "${verb}"`);
    yield { text, clause: { verb, precision } };
    at = percent + (whole?.length ?? 1);
  }
  yield { text: template.slice(at) };
}

const unparsed = (why: string): CelFault => new CelFault(`could not parse formatting clause: ${why}`);

const precisionProblem = 'error while parsing precision';
const notConverted = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax';

const defaultPrecision = 6;

type Verb = 's' | 'd' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X';
const isVerb = (text: string): text is Verb => Object.hasOwn(accepted, text);

interface Accepted {
  readonly kinds: ReadonlySet<CelType['kind']>;
  /** Why other values are refused. */
  readonly problem: string;
}

const accepts = (kinds: string, problem: string): Accepted => ({
  kinds: new Set(kinds.split(' ') as CelType['kind'][]),
  problem,
});

const hexadecimal = accepts(
  'int uint string bytes',
  'only integers, byte buffers, and strings can be formatted as hex',
);

const accepted: Readonly<Record<Verb, Accepted>> = {
  s: accepts(
    'list map int uint double bool string timestamp bytes duration type null_type',
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  ),
  d: accepts('int uint', 'decimal clause can only be used on integers'),
  f: accepts('double string', 'fixed-point clause can only be used on doubles'),
  e: accepts('double string', 'scientific clause can only be used on doubles'),
  b: accepts('int uint bool', 'only integers and bools can be formatted as binary'),
  o: accepts('int uint', 'octal clause can only be used on integers'),
  x: hexadecimal,
  X: hexadecimal,
};

type Writer = (value: CelValue, precision: number, meter: Meter) => string;

const refuse = (verb: Verb, value: CelValue): never => {
  throw new CelFault(`error during formatting: ${accepted[verb].problem}, was given ${typeNameOf(value)}`);
};

const integerOf = (value: CelValue): bigint | undefined => {
  if (typeof value === 'bigint') return value;
  return value instanceof CelUint ? value.value : undefined;
};

const writers: Readonly<Record<Verb, Writer>> = {
  s: (value, _, meter) => textOf(value, meter),
  d: (value) => String(integerOf(value) ?? refuse('d', value)),
  f: (value, precision) => {
    const number = numberOf(value) ?? refuse('f', value);
    return special(number) ?? grouped(fixed(number, precision));
  },
  e: (value, precision) => {
    const number = numberOf(value) ?? refuse('e', value);
    return special(number) ?? scientific(number.toExponential(precision));
  },
  b: (value) =>
    typeof value === 'boolean' ? String(Number(value)) : (integerOf(value) ?? refuse('b', value)).toString(2),
  o: (value) => (integerOf(value) ?? refuse('o', value)).toString(8),
  x: hex,
  X: (value, precision, meter) => hex(value, precision, meter).toUpperCase(),
};

/** Accepts doubles, and the names of infinity and NaN. */
function numberOf(value: CelValue): number | undefined {
  if (typeof value === 'number') return value;
  const words = ['NaN', 'Infinity', '-Infinity'];
  return typeof value === 'string' && words.includes(value) ? Number(value) : undefined;
}

const specials: ReadonlyMap<number, string> = new Map([
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, '∞'],
  [Number.NEGATIVE_INFINITY, '-∞'],
]);

const special = (value: number): string | undefined => specials.get(value);

/** Ties round to the even digit. */
function fixed(value: number, precision: number): string {
  const text = plainDigits(value, precision);
  // Only a multiple of this power of two lies exactly between two texts. `toFixed` then takes the larger one.
  const isTie = Math.abs(value * 2 ** (precision + 1)) % 2 === 1;
  const last = Number(text.at(-1));
  return isTie && last % 2 === 1 ? `${text.slice(0, -1)}${last - 1}` : text;
}

/** `toFixed` writes an exponent from 1e21 on. */
const plainDigits = (value: number, precision: number): string =>
  Math.abs(value) < 1e21
    ? value.toFixed(precision)
    : `${BigInt(value)}${precision === 0 ? '' : `.${'0'.repeat(precision)}`}`;

/** `1,234.5`: numbers are written as in American English. */
const grouped = (text: string): string => text.replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(?:\d{3})+$)/g, ','));

/** `1.05 × 10⁰³`, with narrow spaces that do not break. */
function scientific(text: string): string {
  const [digits = '', exponent = ''] = text.split('e');
  const sign = exponent.startsWith('-') ? '⁻' : '';
  const raised = Array.from(exponent.slice(1).padStart(2, '0'), (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]);
  return `${digits}\u202f×\u202f10${sign}${raised.join('')}`;
}

function hex(value: CelValue, _: number, meter: Meter): string {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    meter.spendExcess(2 * value.length);
    return Buffer.from(value as string).toString('hex');
  }
  return (integerOf(value) ?? refuse('x', value)).toString(16);
}

/** Any value as text. */
function textOf(value: CelValue, meter: Meter): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return doubleText(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return textOfObject(value, meter);
  }
}

function textOfObject(value: Exclude<CelValue, string | number | bigint | boolean>, meter: Meter): string {
  if (value === null) return 'null';
  if (isList(value)) {
    meter.spendTraversal(value.length);
    return `[${value.map((element) => literalOf(element, meter)).join(', ')}]`;
  }
  if (value instanceof CelMap) return mapText(value, meter);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTimestamp) return timestampText(value);
  return value instanceof CelTypeValue ? value.name : refuse('s', value);
}

/** A value within a list or map, as an expression has it. */
function literalOf(value: CelValue, meter: Meter): string {
  const text = textOf(value, meter);
  meter.spendExcess(text.length);
  if (typeof value === 'string') return JSON.stringify(text);
  if (typeof value === 'number') return Number.isFinite(value) ? plainDigits(value, defaultPrecision) : `"${text}"`;
  if (value instanceof Uint8Array) return `b${JSON.stringify(text)}`;
  if (value instanceof CelDuration) return `duration("${text}")`;
  return value instanceof CelTimestamp ? `timestamp("${text}")` : text;
}

/** Sorted by keys. */
function mapText(map: CelMap, meter: Meter): string {
  meter.spendTraversal(map.size);
  const entries = map
    .keys()
    .map((key) => [literalOf(key, meter), literalOf(map.get(key) ?? null, meter)] as const)
    .sort(([a], [b]) => Number(a > b) - Number(a < b));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}
