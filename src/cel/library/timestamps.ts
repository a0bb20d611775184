import { zoneOffsetMs } from '../../meta/time-zone.ts';
import { CelFault } from '../fault.ts';
import { define, defineMethod } from '../overload.ts';
import { durationType, intType, stringType, timestampType } from '../type.ts';
import type { CelDuration, CelTimestamp } from '../value.ts';
import { duration, splitMs, timestamp } from './timestamp-text.ts';

/** Accessors of timestamps by function name; months, days of the month and days of the year count from 0. */
const parts: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

function dayOfYear(date: Date): number {
  const first = new Date(date);
  first.setUTCMonth(0, 1);
  return Math.round((date.getTime() - first.getTime()) / 86_400_000);
}

/** A date whose UTC fields are those of the timestamp in a time zone: an IANA name, or `+01:30`. */
function dateIn(timestamp: CelTimestamp, zone: string): Date {
  const { wholeMs, rest } = splitMs(timestamp.nanoseconds);
  const milliseconds = wholeMs + Number(rest / 1_000_000n);
  return new Date(milliseconds + offsetMs(zone, milliseconds));
}

const fixedOffset = /^([+-]?)([0-9]{2}):([0-9]{2})$/;

function offsetMs(zone: string, at: number): number {
  const fixed = fixedOffset.exec(zone);
  if (fixed === null) return namedOffsetMs(zone, at);
  const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
  return (fixed[1] === '-' ? -minutes : minutes) * 60_000;
}

function namedOffsetMs(zone: string, at: number): number {
  const offset = zoneOffsetMs(zone, at);
  if (offset === undefined) throw new CelFault('unknown time zone');
  return offset;
}

/** The rules of a zone are looked up; other offsets are added. */
const zoneCost = (_: CelTimestamp, zone: string): number => (isNamed(zone) ? 20 : 1);
const isNamed = (zone: string): boolean => zone !== '' && zone !== 'UTC' && !fixedOffset.test(zone);

const accessors = Object.entries(parts).flatMap(([name, part]) => [
  defineMethod(name, [timestampType], intType, (timestamp: CelTimestamp) => BigInt(part(dateIn(timestamp, 'UTC')))),
  defineMethod(
    name,
    [timestampType, stringType],
    intType,
    (timestamp: CelTimestamp, zone: string) => BigInt(part(dateIn(timestamp, zone))),
    zoneCost,
  ),
]);

const spans: readonly (readonly [name: string, nanoseconds: bigint])[] = [
  ['getHours', 3_600_000_000_000n],
  ['getMinutes', 60_000_000_000n],
  ['getSeconds', 1_000_000_000n],
];

const [D, T] = [durationType, timestampType];
const sum = (a: { readonly nanoseconds: bigint }, b: { readonly nanoseconds: bigint }) => a.nanoseconds + b.nanoseconds;
const difference = (a: { readonly nanoseconds: bigint }, b: { readonly nanoseconds: bigint }) =>
  a.nanoseconds - b.nanoseconds;

/** The language's functions on timestamps and durations. */
export const timestamps = [
  ...accessors,
  ...spans.map(([name, size]) => defineMethod(name, [D], intType, (span: CelDuration) => span.nanoseconds / size)),
  defineMethod('getMilliseconds', [D], intType, (span: CelDuration) => (span.nanoseconds / 1_000_000n) % 1_000n),
  define('_+_', [T, D], T, (a: CelTimestamp, b: CelDuration) => timestamp(sum(a, b))),
  define('_+_', [D, T], T, (a: CelDuration, b: CelTimestamp) => timestamp(sum(a, b))),
  define('_+_', [D, D], D, (a: CelDuration, b: CelDuration) => duration(sum(a, b))),
  define('_-_', [T, D], T, (a: CelTimestamp, b: CelDuration) => timestamp(difference(a, b))),
  define('_-_', [T, T], D, (a: CelTimestamp, b: CelTimestamp) => duration(difference(a, b))),
  define('_-_', [D, D], D, (a: CelDuration, b: CelDuration) => duration(difference(a, b))),
];
