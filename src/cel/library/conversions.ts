import { exponentText } from '../../base/exponent-text.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter, type Meter } from '../meter.ts';
import { define } from '../overload.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  paramType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../type.ts';
import {
  type CelDuration,
  type CelTimestamp,
  CelTypeValue,
  type CelUint,
  type CelValue,
  intMax,
  intMin,
  typeNameOf,
} from '../value.ts';
import { int, uint } from './arithmetic.ts';
import { durationText, parseDuration, parseTimestamp, timestampOfSeconds, timestampText } from './timestamp-text.ts';

const nanosecondsPerSecond = 1_000_000_000n;

/** Throws the fault of a text that is no value of a type, in the words of kube-apiserver. */
function noValue(of: string): never {
  throw new CelFault(`type conversion error from 'string' to '${of}'`);
}

function intOfDouble(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new CelFault('integer overflow');
  return BigInt(Math.trunc(value));
}

function uintOfDouble(value: number): CelUint {
  if (!(value >= 0 && value < 2 ** 64)) throw new CelFault('unsigned integer overflow');
  return uint(BigInt(Math.trunc(value)));
}

function parseInt64(text: string): bigint {
  const value = /^[+-]?[0-9]{1,24}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  return value === undefined || value < intMin || value > intMax ? noValue('int') : value;
}

function parseUint64(text: string): CelUint {
  const value = /^[0-9]{1,24}$/.test(text) ? BigInt(text) : undefined;
  return value === undefined || value >= 2n ** 64n ? noValue('uint') : uint(value);
}

/** The formats that kube-apiserver parses: numbers as Go writes them, and the names of infinity and NaN. */
function parseDouble(text: string, meter: Meter): number {
  meter.spendExcess(text.length);
  const word = /^([+-]?)(inf|infinity)$/i.exec(text);
  if (word !== null) return word[1] === '-' ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  // Underscores separate digits, or the prefix from them.
  const digits = text.replaceAll(/(?<=[0-9a-f]|0x)_(?=[0-9a-f])/gi, '');
  const value = decimal.test(digits) ? Number(digits) : hexadecimal(digits);
  return Number.isFinite(value) ? value : noValue('double');
}

const decimal = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** `0x1.8p3`: a mantissa, and an exponent of two, which must be there. NaN if the text is no such number. */
function hexadecimal(text: string): number {
  const match = /^([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*)\.?([0-9a-f]*)p([+-]?[0-9]+)$/i.exec(text);
  if (match === null) return Number.NaN;
  const [, sign, whole = '', fraction = '', exponent] = match;
  const mantissa = Number(`0x${whole}${fraction}`);
  return (sign === '-' ? -mantissa : mantissa) * 2 ** (Number(exponent) - 4 * fraction.length);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

function parseBool(text: string): boolean {
  const value = booleans.get(text);
  return value ?? noValue('bool');
}

/** Formatted as in kube-apiserver: shortest digits, with an exponent below -4 and from 21 on. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e21)) return exponentText(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CelFault('invalid UTF-8 in bytes, cannot convert to string');
  }
}

const traversal = (text: { readonly length: number }): number => Math.ceil(text.length * costPerCharacter);
const same = (name: string, type: CelType) => define(name, [type], type, (value: CelValue) => value);

/** langdef, "Type Conversions". */
export const conversions = [
  same('bool', boolType),
  define('bool', [stringType], boolType, parseBool),
  same('int', intType),
  define('int', [uintType], intType, (value: CelUint) => int(value.value)),
  define('int', [doubleType], intType, intOfDouble),
  define('int', [stringType], intType, parseInt64),
  define('int', [timestampType], intType, (moment: CelTimestamp) => floorSeconds(moment.nanoseconds)),
  define('int', [durationType], intType, (span: CelDuration) => span.nanoseconds),
  same('uint', uintType),
  define('uint', [intType], uintType, (value: bigint) => uint(value)),
  define('uint', [doubleType], uintType, uintOfDouble),
  define('uint', [stringType], uintType, parseUint64),
  same('double', doubleType),
  define('double', [intType], doubleType, (value: bigint) => Number(value)),
  define('double', [uintType], doubleType, (value: CelUint) => Number(value.value)),
  define('double', [stringType], doubleType, parseDouble),
  same('string', stringType),
  define('string', [boolType], stringType, (value: boolean) => String(value)),
  define('string', [intType], stringType, (value: bigint) => String(value)),
  define('string', [uintType], stringType, (value: CelUint) => String(value.value)),
  define('string', [doubleType], stringType, doubleText),
  define('string', [bytesType], stringType, decode, traversal),
  define('string', [timestampType], stringType, timestampText),
  define('string', [durationType], stringType, durationText),
  same('bytes', bytesType),
  define('bytes', [stringType], bytesType, (text: string) => new Uint8Array(Buffer.from(text)), traversal),
  same('timestamp', timestampType),
  define('timestamp', [stringType], timestampType, parseTimestamp),
  define('timestamp', [intType], timestampType, timestampOfSeconds),
  same('duration', durationType),
  define('duration', [stringType], durationType, parseDuration),
  define('dyn', [paramType('T')], dynType, (value: CelValue) => value),
  define('type', [paramType('T')], typeType, (value: CelValue) => new CelTypeValue(typeNameOf(value))),
];

const floorSeconds = (nanoseconds: bigint): bigint =>
  (nanoseconds - (((nanoseconds % nanosecondsPerSecond) + nanosecondsPerSecond) % nanosecondsPerSecond)) /
  nanosecondsPerSecond;
