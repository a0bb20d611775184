import type { Meter } from './meter.ts';
import {
  CelDuration,
  CelIdentityList,
  type CelList,
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
 * maps are equal if their elements are. The cost is a tenth per character, element or entry, and at least 1 for anything
 * else. kube-apiserver charges the outermost list or map only; here those within are charged as well.
 */
export function equal(left: CelValue, right: CelValue, meter: Meter): boolean {
  if (typeof left === 'string' && typeof right === 'string') meter.spendTraversal(Math.min(left.length, right.length));
  else if (!isContainer(left) || !isContainer(right)) meter.spend(1);
  return equalParts(left, right, meter);
}

const isContainer = (value: CelValue): value is CelList | CelMap => isList(value) || value instanceof CelMap;

/** As `equal`, for elements whose number is paid for. */
export function equalParts(left: CelValue, right: CelValue, meter: Meter): boolean {
  if (typeof left === 'string') return typeof right === 'string' && equalText(left, right, meter);
  if (asNumber(left) !== undefined) return compareNumbers(left, right) === 0;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return left === right;
  if (isList(left)) return isList(right) && equalLists(left, right, meter);
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right, meter);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof CelOptional) return right instanceof CelOptional && equalOptionals(left, right, meter);
  return equalAtoms(left, right as object);
}

function equalText(left: string, right: string, meter: Meter): boolean {
  if (left.length !== right.length) return false;
  meter.spendExcess(left.length);
  return left === right;
}

function equalLists(left: CelList, right: CelList, meter: Meter): boolean {
  meter.spendTraversal(Math.min(left.length, right.length));
  if (left.length !== right.length) return false;
  if (!(left instanceof CelIdentityList)) {
    return left.every((element, index) => equalParts(element, right[index] as CelValue, meter));
  }
  const known = byIdentity(left);
  return right.every((element) => {
    const same = known.get(left.identityOf(element));
    return same !== undefined && equalParts(same, element, meter);
  });
}

/** The elements by identity. */
function byIdentity(list: CelIdentityList): Map<string | undefined, CelValue> {
  return new Map(list.map((element) => [list.identityOf(element), element]));
}

/** Elements whose copies the flat price covers that kube-apiserver charges, which does not copy. */
const copiesCovered = 100;

/** The elements of both lists. */
export function concatenate(left: CelList, right: CelList, meter: Meter): CelList {
  if (!(left instanceof CelIdentityList)) {
    meter.spendTraversal(Math.max(0, left.length + right.length - copiesCovered));
    return [...left, ...right];
  }
  meter.spendTraversal(left.length + right.length);
  const elements = byIdentity(left);
  for (const element of right) elements.set(left.identityOf(element), element);
  return new CelIdentityList([...elements.values()], left.identityOf);
}

function equalMaps(left: CelMap, right: CelMap, meter: Meter): boolean {
  meter.spendTraversal(Math.min(left.size, right.size));
  if (left.size !== right.size || !equalHidden(left, right, meter)) return false;
  return left.keys().every((key) => {
    const [a, b] = [left.get(key), right.get(key)];
    return a !== undefined && b !== undefined && equalParts(a, b, meter);
  });
}

function equalHidden({ hidden: left }: CelMap, { hidden: right }: CelMap, meter: Meter): boolean {
  if (left === undefined || right === undefined) return left === right;
  return equalParts(left, right, meter);
}

const equalOptionals = (left: CelOptional, right: CelOptional, meter: Meter): boolean =>
  left.value === undefined || right.value === undefined
    ? left.value === right.value
    : equalParts(left.value, right.value, meter);

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
