import { compareNumbers, compareText, equal, equalParts } from '../equality.ts';
import { costPerCharacter, type Meter } from '../meter.ts';
import { define, type Overload } from '../overload.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listType,
  mapType,
  paramType,
  stringType,
  timestampType,
  uintType,
} from '../type.ts';
import type { CelDuration, CelList, CelMap, CelTimestamp, CelValue } from '../value.ts';

type Order = (a: never, b: never) => number;

/**
 * Negative, zero or positive, and NaN if the values are unordered. Numbers of all types are comparable with each other,
 * other types only with themselves.
 */
const orders: readonly (readonly [left: CelType, right: CelType, order: Order])[] = [
  ...[intType, uintType, doubleType].flatMap((left) =>
    [intType, uintType, doubleType].map((right) => [left, right, compareNumbers] as const),
  ),
  [boolType, boolType, (a: boolean, b: boolean) => Number(a) - Number(b)],
  [stringType, stringType, compareText],
  [bytesType, bytesType, (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b)],
  [durationType, durationType, compareNanoseconds],
  [timestampType, timestampType, compareNanoseconds],
];

function compareNanoseconds(a: CelDuration | CelTimestamp, b: CelDuration | CelTimestamp): number {
  return Number(a.nanoseconds > b.nanoseconds) - Number(a.nanoseconds < b.nanoseconds);
}

const tests: readonly (readonly [name: string, test: (order: number) => boolean])[] = [
  ['_<_', (order) => order < 0],
  ['_<=_', (order) => order <= 0],
  ['_>_', (order) => order > 0],
  ['_>=_', (order) => order >= 0],
];

const lengthOf = (value: CelValue): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 1;

const shorterCost = (a: CelValue, b: CelValue): number =>
  Math.ceil(Math.min(lengthOf(a), lengthOf(b)) * costPerCharacter);

const ordered: readonly Overload[] = tests.flatMap(([name, test]) =>
  orders.map(([left, right, order]) =>
    define(
      name,
      [left, right],
      boolType,
      (a: CelValue, b: CelValue) => test((order as (a: CelValue, b: CelValue) => number)(a, b)),
      shorterCost,
    ),
  ),
);

const free = () => 0;
const T = paramType('T');

export const comparisons: readonly Overload[] = [
  ...ordered,
  define('_==_', [T, T], boolType, equal, free),
  define('_!=_', [T, T], boolType, (a: CelValue, b: CelValue, meter: Meter) => !equal(a, b, meter), free),
  define(
    '_in_',
    [T, listType(T)],
    boolType,
    (value: CelValue, list: CelList, meter: Meter) => list.some((element) => equalParts(value, element, meter)),
    (_: CelValue, list: CelList) => list.length,
  ),
  define('_in_', [T, mapType(T, paramType('V'))], boolType, (key: CelValue, map: CelMap) => map.get(key) !== undefined),
];
