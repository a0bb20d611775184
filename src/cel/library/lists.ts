import { equalParts } from '../equality.ts';
import { CelFault } from '../fault.ts';
import type { Meter } from '../meter.ts';
import { acceptsAll, defineMethod, type Overload, runOverload } from '../overload.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listType,
  paramType,
  stringType,
  timestampType,
  uintType,
} from '../type.ts';
import { CelDuration, type CelList, CelUint, type CelValue, typeNameOf } from '../value.ts';
import { arithmetic } from './arithmetic.ts';
import { comparisons } from './comparisons.ts';
import { timestamps } from './timestamps.ts';

/** Applies an operator to elements of any type. */
function apply(overloads: readonly Overload[], args: readonly CelValue[], meter: Meter): CelValue {
  const found = overloads.find((overload) => acceptsAll(overload, args));
  if (found === undefined) throw new CelFault(`no such overload: ${args.map(typeNameOf).join(', ')}`);
  return runOverload(found, args, meter);
}

const less = comparisons.filter((overload) => overload.name === '_<_');
const plus = [...arithmetic, ...timestamps].filter((overload) => overload.name === '_+_');

const isLess = (a: CelValue, b: CelValue, meter: Meter): boolean => apply(less, [a, b], meter) === true;

function isSorted(list: CelList, meter: Meter): boolean {
  return list.every((element, index) => index === 0 || !isLess(element, list[index - 1] as CelValue, meter));
}

function extreme(list: CelList, better: (candidate: CelValue, best: CelValue) => boolean): CelValue {
  const [first, ...others] = list;
  if (first === undefined) throw new CelFault('min or max of an empty list');
  return others.reduce((best, candidate) => (better(candidate, best) ? candidate : best), first);
}

const zeros: readonly (readonly [CelType, CelValue])[] = [
  [intType, 0n],
  [uintType, new CelUint(0n)],
  [doubleType, 0],
  [durationType, new CelDuration(0n)],
];

const lengthOf = (list: CelList): number => list.length;

const ordered = [intType, uintType, doubleType, boolType, stringType, bytesType, durationType, timestampType];
const listOfAny = listType(paramType('T'));

/** The list extension of kube-apiserver. */
export const lists: readonly Overload[] = [
  ...ordered.flatMap((element) => {
    const list = listType(element);
    return [
      defineMethod('isSorted', [list], boolType, isSorted),
      defineMethod('min', [list], element, (all: CelList, meter: Meter) => extreme(all, (a, b) => isLess(a, b, meter))),
      defineMethod('max', [list], element, (all: CelList, meter: Meter) => extreme(all, (a, b) => isLess(b, a, meter))),
    ];
  }),
  ...zeros.map(([element, zero]) =>
    defineMethod('sum', [listType(element)], element, (all: CelList, meter: Meter) => {
      const [first, ...others] = all;
      return others.reduce((sum, each) => apply(plus, [sum, each], meter), first ?? zero);
    }),
  ),
  defineMethod(
    'indexOf',
    [listOfAny, paramType('T')],
    intType,
    (list: CelList, value: CelValue, meter: Meter) =>
      BigInt(list.findIndex((element) => equalParts(element, value, meter))),
    lengthOf,
  ),
  defineMethod(
    'lastIndexOf',
    [listOfAny, paramType('T')],
    intType,
    (list: CelList, value: CelValue, meter: Meter) =>
      BigInt(list.findLastIndex((element) => equalParts(element, value, meter))),
    lengthOf,
  ),
];
