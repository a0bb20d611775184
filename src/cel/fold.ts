import type { Steps } from '../base/time/in-slices.ts';
import { absorb, CelFault } from './fault.ts';
import { foldCosts, turnCosts } from './meter.ts';
import { asBool, type Frame, type Planning, type Step } from './step.ts';
import type { Fold, OptionalMap } from './syntax.ts';
import { CelMap, CelOptional, type CelValue, isList, KeyedMap, typeNameOf } from './value.ts';

/** One iteration of a macro: the values of its variables. */
interface Turn {
  readonly first: CelValue;
  /** The element or value; the same as `first` if there is only one variable. */
  readonly second: CelValue;
}

/** Accumulates the result of a macro. `add` returns true if the result is final and the iteration can stop. */
interface Collector {
  add(turn: Turn, frame: Frame): boolean;
  result(): CelValue;
}

/** Plans a macro over a list, or over the keys of a map. */
export function* planFold(expr: Fold, planner: Planning): Steps<Step> {
  const range = yield* planner.plan(expr.range);
  return yield* planner.within(expr.first, (first) => {
    if (expr.second === undefined) return loop(expr, range, planner, [first]);
    return planner.within(expr.second, (second) => loop(expr, range, planner, [first, second]));
  });
}

function* loop(expr: Fold, range: Step, planner: Planning, slots: readonly [number, number?]): Steps<Step> {
  const body = yield* planner.plan(expr.body);
  const filter = expr.filter === undefined ? undefined : yield* planner.plan(expr.filter);
  const [first, second] = slots;
  return (frame) => {
    const turns = turnsOf(range(frame), second !== undefined);
    frame.meter.spend(foldCosts[expr.operation]);
    const collector = collectors[expr.operation](body, frame);
    for (const turn of turns) {
      frame.meter.spend(turnCosts[expr.operation]);
      frame.slots[first] = turn.first;
      if (second !== undefined) frame.slots[second] = turn.second;
      if (filter !== undefined && !asBool(filter(frame))) continue;
      if (collector.add(turn, frame)) break;
    }
    return collector.result();
  };
}

export function turnsOf(range: CelValue, two: boolean): Iterable<Turn> {
  if (isList(range)) {
    return Iterator.from(range).map((second, index) => ({ first: two ? BigInt(index) : second, second }));
  }
  if (!(range instanceof CelMap)) throw new CelFault(`no such overload: ${typeNameOf(range)} is no range of a macro`);
  return Iterator.from(range.keys()).map((first) => ({ first, second: two ? (range.get(first) ?? null) : first }));
}

export const collectors: Readonly<Record<Fold['operation'], (body: Step, frame: Frame) => Collector>> = {
  all: (body) => quantifier(body, false),
  exists: (body) => quantifier(body, true),
  existsOne: (body) => {
    let count = 0;
    return {
      add: (_, frame) => {
        if (asBool(body(frame))) count++;
        return false;
      },
      result: () => count === 1,
    };
  },
  filter: (body, frame) => toList((turn, list) => asBool(body(frame)) && list.push(turn.second)),
  map: (body, frame) => toList((_, list) => list.push(body(frame))),
  transformList: (body, frame) => toList((_, list) => list.push(body(frame))),
  transformMap: (body, frame) => toMap((turn, map) => map.add(turn.first, body(frame))),
  transformMapEntry: (body, frame) =>
    toMap((_, map) => {
      const entries = body(frame);
      if (!(entries instanceof CelMap))
        throw new CelFault(`no such overload: map expected, found ${typeNameOf(entries)}`);
      for (const key of entries.keys()) map.add(key, entries.get(key) ?? null);
    }),
};

/** One decisive element settles the result, wherever it is; only without one does a fault count. */
function quantifier(body: Step, decisive: boolean): Collector {
  let [decided, fault]: [boolean, CelFault | undefined] = [false, undefined];
  return {
    add: (_, frame) => {
      try {
        decided = asBool(body(frame)) === decisive;
      } catch (error) {
        fault = absorb(error, frame.meter);
      }
      return decided;
    },
    result: () => {
      if (!decided && fault !== undefined) throw fault;
      return decided ? decisive : !decisive;
    },
  };
}

function toList(add: (turn: Turn, list: CelValue[]) => unknown): Collector {
  const list: CelValue[] = [];
  return {
    add: (turn) => {
      add(turn, list);
      return false;
    },
    result: () => list,
  };
}

function toMap(add: (turn: Turn, map: KeyedMap) => void): Collector {
  const map = new KeyedMap();
  return {
    add: (turn) => {
      add(turn, map);
      return false;
    },
    result: () => map,
  };
}

/** Plans `optMap` and `optFlatMap`. */
export function* planOptionalMap(expr: OptionalMap, planner: Planning): Steps<Step> {
  const target = yield* planner.plan(expr.target);
  return yield* planner.within(expr.variable, function* (slot): Steps<Step> {
    const body = yield* planner.plan(expr.body);
    return (frame) => {
      const value = asOptional(target(frame));
      if (value.value === undefined) return CelOptional.none;
      frame.slots[slot] = value.value;
      return expr.flat ? asOptional(body(frame)) : new CelOptional(body(frame));
    };
  });
}

export function asOptional(value: CelValue): CelOptional {
  if (value instanceof CelOptional) return value;
  throw new CelFault(`no such overload: optional_type expected, found ${typeNameOf(value)}`);
}
