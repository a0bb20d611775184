/**
 * RFC 3339 times of API objects: always UTC, `2006-01-02T15:04:05Z`, or with six fractional digits for MicroTime fields.
 * Numeric values are milliseconds since the Unix epoch.
 */

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,64}))?(?:Z|([+-])(\d\d):(\d\d))$/;

interface Instant {
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  /** Digits after the decimal point, as in the text. */
  readonly fraction: string;
}

/** The last formatted second, cached because most times are the current one. */
let written = { second: Number.NaN, text: '' };

/** Whole seconds: `2006-01-02T15:04:05Z`. Fractions are rounded down. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (written.second !== second) written = { second, text: `${new Date(ms).toISOString().slice(0, 19)}Z` };
  return written.text;
}

/** Microseconds: `2006-01-02T15:04:05.000000Z`. */
export function formatMicroTime(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.floor((ms - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`;
}

/** Milliseconds since the epoch of an RFC 3339 time with any offset; undefined if the text is invalid. */
export function parseTime(text: string): number | undefined {
  const instant = parseInstant(text);
  return instant && instant.seconds * 1000 + Number(`0.${instant.fraction || '0'}`) * 1000;
}

/**
 * The stored form: UTC, truncated to seconds or microseconds. Undefined if the text is not an RFC 3339 time in the years
 * 0 to 9999. Leap seconds are rejected, as in kube-apiserver.
 */
export function canonicalTime(text: string, precision: 'second' | 'micro'): string | undefined {
  const instant = parseInstant(text);
  if (!instant) return undefined;
  const whole = new Date(instant.seconds * 1000).toISOString();
  // An offset can move the year outside 0..9999, which toISOString writes with a sign and six digits.
  if (whole.length !== 24) return undefined;
  const seconds = whole.slice(0, 19);
  return precision === 'second' ? `${seconds}Z` : `${seconds}.${instant.fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

function parseInstant(text: string): Instant | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours, offsetMinutes] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHours ?? 0) > 23 || Number(offsetMinutes ?? 0) > 59) return undefined;
  if (Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month))) return undefined;
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000;
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60;
  return { seconds: sign === '-' ? local + offset : local - offset, fraction };
}

/** 0 if the month is invalid. */
function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/**
 * A duration or age for tables, in at most two units: `45s`, `3m20s`, `5h7m`, `2d4h`, `3y40d`. The smaller unit is
 * omitted once the larger one is precise enough. Negative durations of less than two seconds (clock skew) give `0s`;
 * larger ones give `<invalid>`.
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (Number.isNaN(seconds) || seconds < -1) return '<invalid>';
  if (seconds < 2 * minute) return `${Math.max(seconds, 0)}s`;
  if (seconds < 10 * minute) return twoUnits(seconds, { size: minute, name: 'm' }, { size: 1, name: 's' });
  if (seconds < 3 * hour) return `${Math.trunc(seconds / minute)}m`;
  if (seconds < 8 * hour) return twoUnits(seconds, { size: hour, name: 'h' }, { size: minute, name: 'm' });
  if (seconds < 2 * day) return `${Math.trunc(seconds / hour)}h`;
  if (seconds < 8 * day) return twoUnits(seconds, { size: day, name: 'd' }, { size: hour, name: 'h' });
  if (seconds < 2 * year) return `${Math.trunc(seconds / day)}d`;
  if (seconds < 8 * year) return twoUnits(seconds, { size: year, name: 'y' }, { size: day, name: 'd' });
  return `${Math.trunc(seconds / year)}y`;
}

interface Unit {
  readonly size: number;
  readonly name: string;
}

function twoUnits(seconds: number, large: Unit, small: Unit): string {
  const rest = Math.trunc((seconds % large.size) / small.size);
  return `${Math.trunc(seconds / large.size)}${large.name}${rest === 0 ? '' : `${rest}${small.name}`}`;
}
