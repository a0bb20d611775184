import { CelFault } from '../fault.ts';
import { CelDuration, CelTimestamp, intMax, intMin } from '../value.ts';

const second = 1_000_000_000n;

/** Nanoseconds per unit in the text form of a duration. */
const units: Readonly<Record<string, bigint>> = {
  h: 3600n * second,
  m: 60n * second,
  s: second,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ns: 1n,
};

export function duration(nanoseconds: bigint): CelDuration {
  if (nanoseconds < intMin || nanoseconds > intMax) throw new CelFault('duration out of range');
  return new CelDuration(nanoseconds);
}

/** Years 1 to 9999. */
const [earliest, latest] = [-62_135_596_800n * second, 253_402_300_800n * second - 1n];

export function timestamp(nanoseconds: bigint): CelTimestamp {
  if (nanoseconds < earliest || nanoseconds > latest) throw new CelFault('timestamp out of range');
  return new CelTimestamp(nanoseconds);
}

export const timestampOfSeconds = (seconds: bigint): CelTimestamp => timestamp(seconds * second);

/** Parses `1h30m`, `-1.5s`. */
export function parseDuration(text: string): CelDuration {
  const match =
    /^([+-]?)((?:(?:[0-9]{1,19}(?:\.[0-9]{0,19})?|\.[0-9]{1,19})(?:h|ms|m|s|us|\u00b5s|\u03bcs|ns))+|0)$/.exec(text);
  if (match === null) throw new CelFault('invalid duration');
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of (match[2] ?? '').matchAll(
    /([0-9]*)(?:\.([0-9]*))?([a-z\u00b5\u03bc]+)/g,
  )) {
    const size = units[unit] ?? 0n;
    total += BigInt(whole) * size + (BigInt(fraction || '0') * size) / 10n ** BigInt(fraction.length);
  }
  return duration(match[1] === '-' ? -total : total);
}

const rfc3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9})[0-9]{0,9})?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;

/** Parses an RFC 3339 timestamp. */
export function parseTimestamp(text: string): CelTimestamp {
  const match = rfc3339.exec(text);
  if (match === null) throw new CelFault('invalid timestamp');
  const [, year, month, day, hour, minute, seconds, fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] =
    match;
  const parts = [month, day, hour, minute, seconds].map(Number) as [number, number, number, number, number];
  const milliseconds = utcMs(Number(year), parts);
  if (milliseconds === undefined) throw new CelFault('invalid timestamp');
  const offset = (BigInt(offsetHours) * 3600n + BigInt(offsetMinutes) * 60n) * second * (sign === '-' ? 1n : -1n);
  return timestamp(BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, '0')) + offset);
}

/** Undefined for a day or time that does not exist in the calendar. */
function utcMs(year: number, [month, day, hour, minute, seconds]: readonly [number, number, number, number, number]) {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, seconds);
  const same = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCHours() === hour;
  return same && date.getUTCMinutes() === minute && date.getUTCSeconds() === seconds ? date.getTime() : undefined;
}

/** `3600s`, `0.5s`. */
export function durationText({ nanoseconds }: CelDuration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  return `${nanoseconds < 0n ? '-' : ''}${size / second}${fractionText(size % second)}s`;
}

/** RFC 3339 in UTC, without trailing zeros in the fraction. */
export function timestampText({ nanoseconds }: CelTimestamp): string {
  const { wholeMs, rest } = splitMs(nanoseconds);
  const text = new Date(wholeMs).toISOString();
  return `${text.slice(0, -5)}${fractionText(rest)}Z`;
}

/** The whole seconds, in milliseconds, and the remaining nanoseconds. */
export function splitMs(nanoseconds: bigint): { readonly wholeMs: number; readonly rest: bigint } {
  const rest = ((nanoseconds % second) + second) % second;
  return { wholeMs: Number((nanoseconds - rest) / 1_000_000n), rest };
}

const fractionText = (nanoseconds: bigint): string =>
  nanoseconds === 0n ? '' : `.${String(nanoseconds).padStart(9, '0').replace(/0+$/, '')}`;
