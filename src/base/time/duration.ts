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
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|\u03bcs|ns)/gy)];
  const length = parts.reduce((sum, [part]) => sum + part.length, 0);
  if (parts.length === 0 || length !== text.length) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ''] ?? 0), 0);
}
