import { limits } from '../../base/limits.ts';
import { CelFault } from '../fault.ts';
import type { Meter } from '../meter.ts';
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
import { exponentText } from './conversions.ts';
import { durationText, timestampText } from './timestamp-text.ts';

/** `text.format(args)`: the verbs %s %d %f %e %b %o %x %X, of which %f and %e may have a precision, and %%. */
export function format(template: string, args: CelList, meter: Meter): string {
  let next = 0;
  const parts: string[] = [];
  for (const [text, precision, clause] of clausesOf(template)) {
    const writer = clause === undefined ? undefined : writers[clause];
    if (writer === undefined) parts.push(clause === '%' ? '%' : text);
    else {
      const value = args[next++];
      if (value === undefined) throw new CelFault('format: fewer values than clauses');
      parts.push(writer(value, precision, meter));
    }
    meter.spendTraversal(parts.at(-1)?.length ?? 0);
  }
  if (next < args.length) throw new CelFault('format: more values than clauses');
  return parts.join('');
}

type Clause = readonly [text: string, precision: number, clause: string | undefined];

function* clausesOf(template: string): Generator<Clause> {
  let at = 0;
  while (at < template.length) {
    const percent = template.indexOf('%', at);
    if (percent === -1) break;
    yield [template.slice(at, percent), 0, undefined];
    const match = /^%(?:\.([0-9]{1,3}))?([a-zA-Z%])/.exec(template.slice(percent, percent + 8));
    const clause = match?.[2] ?? '';
    if (clause !== '%' && !Object.hasOwn(writers, clause)) throw new CelFault('format: unrecognized formatting clause');
    const precision = Number(match?.[1] ?? 6);
    if (precision > limits.celPrecisionMax) throw new CelFault(`format: precision above ${limits.celPrecisionMax}`);
    yield ['', precision, clause];
    at = percent + (match?.[0].length ?? 1);
  }
  yield [template.slice(at), 0, undefined];
}

type Writer = (value: CelValue, precision: number, meter: Meter) => string;

const refuse = (clause: string, value: CelValue): never => {
  throw new CelFault(`format: ${clause} cannot write ${typeNameOf(value)}`);
};

const integerOf = (value: CelValue): bigint | undefined => {
  if (typeof value === 'bigint') return value;
  return value instanceof CelUint ? value.value : undefined;
};

const special = (value: number): string | undefined => (Number.isFinite(value) ? undefined : String(value));

const writers: Readonly<Record<string, Writer>> = {
  s: (value, _, meter) => textOf(value, meter),
  d: (value) => {
    if (typeof value === 'number') return special(value) ?? refuse('%d', value);
    return String(integerOf(value) ?? refuse('%d', value));
  },
  f: (value, precision) => {
    const number = numberOf(value) ?? refuse('%f', value);
    return special(number) ?? fixed(number, precision);
  },
  e: (value, precision) => {
    const number = numberOf(value) ?? refuse('%e', value);
    return special(number) ?? exponentText(number.toExponential(precision));
  },
  b: (value) =>
    typeof value === 'boolean' ? String(Number(value)) : (integerOf(value) ?? refuse('%b', value)).toString(2),
  o: (value) => (integerOf(value) ?? refuse('%o', value)).toString(8),
  x: hex,
  X: (value, precision, meter) => hex(value, precision, meter).toUpperCase(),
};

/** Accepts doubles, and the names of infinity and NaN. */
function numberOf(value: CelValue): number | undefined {
  if (typeof value === 'number') return value;
  const words = ['NaN', 'Infinity', '-Infinity'];
  if (typeof value === 'string' && words.includes(value)) return Number(value);
  const integer = integerOf(value);
  return integer === undefined ? undefined : Number(integer);
}

/** Ties round to the even digit. */
function fixed(value: number, precision: number): string {
  const scaled = value * 10 ** precision;
  const floor = Math.floor(scaled);
  const between = scaled - floor === 0.5 && Number.isSafeInteger(floor) && precision === 0;
  return between ? String(floor % 2 === 0 ? floor : floor + 1) : value.toFixed(precision);
}

function hex(value: CelValue, _: number, meter: Meter): string {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    meter.spendTraversal(2 * value.length);
    return Buffer.from(value as string).toString('hex');
  }
  return (integerOf(value) ?? refuse('%x', value)).toString(16);
}

/** Any value as text, with the keys of maps sorted. */
function textOf(value: CelValue, meter: Meter): string {
  meter.spend(1);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value === null)
    return String(value);
  if (isList(value)) return `[${value.map((element) => textOf(element, meter)).join(', ')}]`;
  if (value instanceof CelMap) return mapText(value, meter);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTimestamp) return timestampText(value);
  return value instanceof CelTypeValue ? value.name : refuse('%s', value);
}

function mapText(map: CelMap, meter: Meter): string {
  const entries = map.keys().map((key) => [textOf(key, meter), textOf(map.get(key) ?? null, meter)] as const);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `${key}: ${value}`).join(', ')}}`;
}
