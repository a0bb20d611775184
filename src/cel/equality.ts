import type { Meter } from './meter.ts';
import {
  CelDuration,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
} from './value.ts';

/**
 * langdef, "Equality": numbers of all types are compared by value, values of different types are unequal, lists and
 * maps are equal if their elements are. The cost is that of the values compared.
 */
export function equal(left: CelValue, right: CelValue, meter: Meter): boolean {
  if (typeof left === 'string') return typeof right === 'string' && equalText(left, right, meter);
  meter.spend(1);
  if (asNumber(left) !== undefined) return compareNumbers(left, right) === 0;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return left === right;
  if (isList(left)) return isList(right) && equalLists(left, right, meter);
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right, meter);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof CelOptional) return right instanceof CelOptional && equalOptionals(left, right, meter);
  return equalAtoms(left, right as object);
}

function equalText(left: string, right: string, meter: Meter): boolean {
  meter.spendTraversal(Math.min(left.length, right.length));
  return left === right;
}

const equalLists = (left: readonly CelValue[], right: readonly CelValue[], meter: Meter): boolean =>
  left.length === right.length && left.every((element, index) => equal(element, right[index] as CelValue, meter));

const equalMaps = (left: CelMap, right: CelMap, meter: Meter): boolean =>
  left.size === right.size &&
  left.keys().every((key) => {
    const [a, b] = [left.get(key), right.get(key)];
    return a !== undefined && b !== undefined && equal(a, b, meter);
  });

const equalOptionals = (left: CelOptional, right: CelOptional, meter: Meter): boolean =>
  left.value === undefined || right.value === undefined
    ? left.value === right.value
    : equal(left.value, right.value, meter);

function equalAtoms(left: object, right: object): boolean {
  if (left instanceof CelDuration) return right instanceof CelDuration && left.nanoseconds === right.nanoseconds;
  if (left instanceof CelTimestamp) return right instanceof CelTimestamp && left.nanoseconds === right.nanoseconds;
  if (left instanceof CelTypeValue) return right instanceof CelTypeValue && left.name === right.name;
  return (
    left instanceof CelOpaque &&
    right instanceof CelOpaque &&
    left.typeName === right.typeName &&
    left.text === right.text
  );
}

/** Negative, zero or positive, and NaN if an operand is NaN; an int and a double are compared as doubles. */
export function compareNumbers(left: CelValue, right: CelValue): number {
  const [a, b] = [asNumber(left), asNumber(right)];
  if (typeof a === 'bigint' && typeof b === 'bigint') return Number(a > b) - Number(a < b);
  return order(Number(a), Number(b));
}

function order(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b ? 0 : Number.NaN;
}

function asNumber(value: CelValue): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return value instanceof CelUint ? value.value : undefined;
}

/** Negative, zero or positive; strings are ordered by code points. */
export function compareText(left: string, right: string): number {
  let at = 0;
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)];
  if (Number.isNaN(a) || Number.isNaN(b)) return left.length - right.length;
  // Surrogates encode code points above all others.
  const [aHigh, bHigh] = [isSurrogate(a), isSurrogate(b)];
  return aHigh === bHigh ? a - b : Number(aHigh) - Number(bHigh);
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
