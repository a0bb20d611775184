import { limits } from '../base/limits.ts';

/**
 * A resource.Quantity: an exact fixed-point number with a suffix, `100m`, `2Gi`, `1e3`. Stored as text in canonical form:
 * no fraction, the largest unit that loses no digits, in the suffix family that the author chose.
 */
export interface Quantity {
  /** Billionths. Parsing rounds finer values away from zero. */
  readonly nanos: bigint;
  readonly family: QuantityFamily;
}

/** `decimal`: m k M G; `binary`: Ki Mi Gi; `exponent`: e3 e6. */
type QuantityFamily = 'decimal' | 'binary' | 'exponent';

export const nanosPerUnit = 10n ** 9n;
/** Cap of binary quantities, as in Kubernetes. */
const binaryMax = (2n ** 63n - 1n) * nanosPerUnit;

const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const decimalSuffixes = new Map([
  [0, ''],
  ...Object.entries(decimalExponents).map(([suffix, e]) => [e, suffix] as const),
]);
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

/** Undefined if the text is not a quantity, or its length or exponent exceeds `limits`. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > limits.quantityLengthMax) return undefined;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(whole + fraction);
  const unit = unitOf(suffix);
  if (!unit) return undefined;
  const scaled = scale(digits * unit.factor, 9 + unit.exponent - fraction.length);
  const nanos = unit.family === 'binary' && scaled > binaryMax ? binaryMax : scaled;
  const family = unit.family === 'binary' && nanos < nanosPerUnit ? 'decimal' : unit.family;
  return { nanos: sign === '-' ? -nanos : nanos, family };
}

interface QuantityUnit {
  readonly factor: bigint;
  readonly exponent: number;
  readonly family: QuantityFamily;
}

function unitOf(suffix: string): QuantityUnit | undefined {
  if (suffix.endsWith('i')) {
    const power = binarySuffixes.indexOf(suffix as (typeof binarySuffixes)[number]);
    return { factor: 1n << BigInt(power * 10), exponent: 0, family: 'binary' };
  }
  if (suffix.length < 2) return { factor: 1n, exponent: decimalExponents[suffix] ?? 0, family: 'decimal' };
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) > limits.quantityExponentMax) return undefined;
  return { factor: 1n, exponent, family: 'exponent' };
}

/** `digits` times ten to the power of `exponent`, rounded up, so that no non-zero quantity becomes zero. */
function scale(digits: bigint, exponent: number): bigint {
  if (exponent >= 0) return digits * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (digits + divisor - 1n) / divisor;
}

/** The canonical text. */
export function formatQuantity({ nanos, family }: Quantity): string {
  if (nanos === 0n) return '0';
  // Values below 1Ki, and fractional ones, are written in decimal units to stay exact.
  if (family === 'binary' && magnitude(nanos) >= 1024n * nanosPerUnit && nanos % nanosPerUnit === 0n) {
    return formatBinary(nanos / nanosPerUnit);
  }
  return formatDecimal(nanos, family);
}

function formatBinary(value: bigint): string {
  let [rest, power] = [value, 0];
  while (rest % 1024n === 0n && power < binarySuffixes.length - 1) [rest, power] = [rest / 1024n, power + 1];
  return `${rest}${binarySuffixes[power]}`;
}

function formatDecimal(nanos: bigint, family: QuantityFamily): string {
  let [rest, exponent] = [nanos, -9];
  const exponentMax = family === 'exponent' ? Number.POSITIVE_INFINITY : 18;
  while (rest % 1000n === 0n && exponent < exponentMax) [rest, exponent] = [rest / 1000n, exponent + 3];
  if (family === 'exponent') return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes.get(exponent)}`;
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** The canonical form of a text or a JSON number: `0.5` -> `500m`, `1024Mi` -> `1Gi`. Undefined if it is invalid. */
export function canonicalQuantity(value: string | number | bigint): string | undefined {
  const quantity = parseQuantity(typeof value === 'string' ? value.trim() : String(value));
  return quantity && formatQuantity(quantity);
}

/** Negative, zero or positive, regardless of family: `1Ki` equals `1024`. */
export const compareQuantity = (a: Quantity, b: Quantity): number =>
  a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;

/** The sum, in the family of `a`, or of `b` if `a` is zero. */
export const addQuantity = (a: Quantity, b: Quantity): Quantity => ({
  nanos: a.nanos + b.nanos,
  family: a.nanos === 0n ? b.family : a.family,
});

/** The difference, in the family of `a`, or of `b` if `a` is zero. */
export const subtractQuantity = (a: Quantity, b: Quantity): Quantity => addQuantity(a, { ...b, nanos: -b.nanos });

/**
 * Rounds away from zero to a multiple of ten to the power of `exponent` (-9 to 0). -3 rounds to milli-units, the precision
 * of container resource lists.
 */
export function roundUpQuantity({ nanos, family }: Quantity, exponent: number): Quantity {
  const step = 10n ** BigInt(exponent + 9);
  const rounded = ((magnitude(nanos) + step - 1n) / step) * step;
  return { nanos: nanos < 0n ? -rounded : rounded, family };
}
