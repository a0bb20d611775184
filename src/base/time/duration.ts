const unitMs: Readonly<Record<string, number>> = {
  h: 3600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ns: 1e-6,
};

/**
 * Parses a Go-style duration, as in Kubernetes configuration files, to milliseconds: `70s`, `1h2m`, `1.5h`, `-5s`, `0`.
 * Undefined if the text is not a duration.
 */
export function parseDuration(text: string): number | undefined {
  const [, sign = '', amount = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const total = amount === '0' ? 0 : sumOfParts(amount);
  return sign === '-' && total !== undefined && total !== 0 ? -total : total;
}

function sumOfParts(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|\u00b5s|\u03bcs|ns)/gy)];
  const length = parts.reduce((sum, [part]) => sum + part.length, 0);
  if (parts.length === 0 || length !== text.length) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ''] ?? 0), 0);
}

/** A duration as Go prints it: `1h2m0.5s`, `4.5ms`, `317ns`. Of whole nanoseconds, and not negative. */
export function formatDuration(ms: number): string {
  const ns = Math.round(ms * 1e6);
  if (ns === 0) return '0s';
  if (ns < 1_000) return `${ns}ns`;
  if (ns < 1_000_000) return `${ns / 1_000}µs`;
  if (ns < 1_000_000_000) return `${ns / 1_000_000}ms`;
  const minuteNs = 60_000_000_000;
  const minutes = Math.floor(ns / minuteNs);
  const seconds = `${(ns - minutes * minuteNs) / 1_000_000_000}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return `${hours > 0 ? `${hours}h` : ''}${minutes - hours * 60}m${seconds}`;
}

/** Largest duration of Go: 64 bits of nanoseconds. */
const longestMs = 2 ** 63 / 1e6;

/** What is wrong with a Go-style duration, as Go says it. Undefined if nothing is. */
export function durationProblem(text: string): string | undefined {
  const ms = parseDuration(text);
  if (ms !== undefined && Math.abs(ms) <= longestMs) return undefined;
  const problem = ms === undefined ? partProblem(text) : 'invalid duration';
  return `time: ${problem} ${JSON.stringify(text)}`;
}

function partProblem(text: string): string {
  let rest = text.replace(/^[+-]/, '');
  while (rest !== '') {
    const [part, count = '', unit = ''] = /^([\d.]*)([^\d.]*)/.exec(rest) ?? [''];
    if (!/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(count)) return 'invalid duration';
    if (unit === '') return 'missing unit in duration';
    if (!Object.hasOwn(unitMs, unit)) return `unknown unit ${JSON.stringify(unit)} in duration`;
    rest = rest.slice(part.length);
  }
  return 'invalid duration';
}
