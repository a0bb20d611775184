import { limits } from '../base/limits.ts';
import { absorb, CelFault } from './fault.ts';
import { asOptional, collectors, turnsOf } from './fold.ts';
import { foldCosts, turnCosts } from './meter.ts';
import type { Planner } from './plan.ts';
import { asBool, type Frame, type Step } from './step.ts';
import {
  type Conditional,
  childrenOf,
  type Expr,
  type Fold,
  type Logic,
  type OptionalMap,
  type Select,
  someExpr,
} from './syntax.ts';
import { CelLazyMap, CelOptional, type CelValue } from './value.ts';

/** A step that yields now and then, so that the caller can make a pause. */
export type SlicedStep = (frame: Frame) => Generator<void, CelValue>;

/**
 * Plans an expression for an evaluation in slices. Only macros that iterate and values that are computed when they are read
 * take long, so that what has none is one step.
 * Values and costs are those of `Planner`, whose steps do the work; slices only decide when.
 */
export function planSliced(expr: Expr, planner: Planner): SlicedStep {
  if (!someExpr(expr, (each) => each.kind === 'fold' || planner.isLazy(each))) {
    return atOnce(planner.plan(expr));
  }
  if (planner.isLazy(expr)) return lazy(expr, planner);
  switch (expr.kind) {
    case 'logic':
      return logic(expr, planner);
    case 'conditional':
      return conditional(expr, planner);
    case 'fold':
      return fold(expr, planner);
    case 'optionalMap':
      return optionalMap(expr, planner);
    default:
      return eager(expr, planner);
  }
}

const nothing: readonly never[] = [];

const atOnce = (step: Step): SlicedStep =>
  function* (frame) {
    yield* nothing;
    return step(frame);
  };

/** The selection of a field that is computed when it is read. */
function lazy(expr: Select, planner: Planner): SlicedStep {
  const operand = planner.plan(expr.operand);
  const slot = planner.newSlot();
  const select = planner.planWith(expr, new Map([[expr.operand, (frame: Frame) => frame.slots[slot] as CelValue]]));
  return function* (frame) {
    const map = operand(frame);
    if (map instanceof CelLazyMap) yield* map.prepare(expr.field);
    frame.slots[slot] = map;
    return select(frame);
  };
}

/** An expression that needs the values of all its parts: they are evaluated first. */
function eager(expr: Expr, planner: Planner): SlicedStep {
  const qualifier = expr.kind === 'call' && planner.isQualified(expr) ? expr.target : undefined;
  const children = childrenOf(expr).filter((child) => child !== qualifier);
  const parts = children.map((child) => ({ child, step: planSliced(child, planner), slot: planner.newSlot() }));
  const reads = new Map(parts.map(({ child, slot }) => [child, (frame: Frame) => frame.slots[slot] as CelValue]));
  const combine = planner.planWith(expr, reads);
  return function* (frame) {
    for (const { step, slot } of parts) frame.slots[slot] = yield* step(frame);
    return combine(frame);
  };
}

function logic({ operator, terms }: Logic, planner: Planner): SlicedStep {
  const steps = terms.map((term) => planSliced(term, planner));
  const decisive = operator === '||';
  return function* (frame) {
    let fault: CelFault | undefined;
    for (const step of steps) {
      try {
        if (asBool(yield* step(frame)) === decisive) return decisive;
      } catch (error) {
        fault = absorb(error, frame.meter);
      }
    }
    if (fault !== undefined) throw fault;
    return !decisive;
  };
}

function conditional(expr: Conditional, planner: Planner): SlicedStep {
  const [condition, yes, no] = [expr.condition, expr.yes, expr.no].map((part) => planSliced(part, planner)) as [
    SlicedStep,
    SlicedStep,
    SlicedStep,
  ];
  return function* (frame) {
    return yield* asBool(yield* condition(frame)) ? yes(frame) : no(frame);
  };
}

function optionalMap(expr: OptionalMap, planner: Planner): SlicedStep {
  const target = planSliced(expr.target, planner);
  return planner.within(expr.variable, (slot): SlicedStep => {
    const body = planSliced(expr.body, planner);
    return function* (frame) {
      const { value } = asOptional(yield* target(frame));
      if (value === undefined) return CelOptional.none;
      frame.slots[slot] = value;
      const result = yield* body(frame);
      return expr.flat ? asOptional(result) : new CelOptional(result);
    };
  });
}

function fold(expr: Fold, planner: Planner): SlicedStep {
  const range = planSliced(expr.range, planner);
  return planner.within(expr.first, (first) => {
    if (expr.second === undefined) return loop(expr, range, planner, [first]);
    return planner.within(expr.second, (second) => loop(expr, range, planner, [first, second]));
  });
}

function loop(expr: Fold, range: SlicedStep, planner: Planner, slots: readonly [number, number?]): SlicedStep {
  const body = planSliced(expr.body, planner);
  const filter = expr.filter === undefined ? undefined : planSliced(expr.filter, planner);
  const [first, second] = slots;
  return function* (frame) {
    const turns = turnsOf(yield* range(frame), second !== undefined);
    frame.meter.spend(foldCosts[expr.operation]);
    let result: CelValue | CelFault = null;
    const read: Step = () => {
      if (result instanceof CelFault) throw result;
      return result;
    };
    const collector = collectors[expr.operation](read, frame);
    for (const turn of turns) {
      frame.meter.spend(turnCosts[expr.operation]);
      frame.slots[first] = turn.first;
      if (second !== undefined) frame.slots[second] = turn.second;
      if (frame.meter.isPauseDue(limits.ruleCostPerStep)) yield;
      if (filter !== undefined && !asBool(yield* filter(frame))) continue;
      result = yield* outcome(body, frame);
      if (collector.add(turn, frame)) break;
    }
    return collector.result();
  };
}

/** The value, or the fault that the collector may absorb. */
function* outcome(step: SlicedStep, frame: Frame): Generator<void, CelValue | CelFault> {
  try {
    return yield* step(frame);
  } catch (error) {
    if (error instanceof CelFault) return error;
    throw error;
  }
}
