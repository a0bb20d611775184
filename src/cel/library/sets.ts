import { equal } from '../equality.ts';
import type { Meter } from '../meter.ts';
import { define } from '../overload.ts';
import { boolType, listType, paramType } from '../type.ts';
import type { CelList } from '../value.ts';

const list = listType(paramType('T'));

const contains = (all: CelList, some: CelList, meter: Meter): boolean =>
  some.every((value) => all.some((each) => equal(each, value, meter)));

/** The extension for sets: lists compared without regard to order and duplicates. */
export const sets = [
  define('sets.contains', [list, list], boolType, contains),
  define(
    'sets.equivalent',
    [list, list],
    boolType,
    (a: CelList, b: CelList, meter: Meter) => contains(a, b, meter) && contains(b, a, meter),
  ),
  define('sets.intersects', [list, list], boolType, (a: CelList, b: CelList, meter: Meter) =>
    a.some((value) => b.some((each) => equal(value, each, meter))),
  ),
];
