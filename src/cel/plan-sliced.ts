import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
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
} from './syntax.ts';
import { CelLazyMap, CelOptional, type CelValue } from './value.ts';

/** A step that yields now and then, so that the caller can make a pause. */
export type SlicedStep = (frame: Frame) => Generator<void, CelValue>;

/**
 * Plans an expression for an evaluation in slices. Only macros that iterate and values that are computed when they are read
 * take long, so that what has none is one step.
 * Values and costs are those of `Planner`, whose steps do the work; slices only decide when.
 * There are pauses in the work on a long expression.
 */
export function* planSliced(expr: Expr, planner: Planner): Steps<SlicedStep> {
  const sliced = new SlicedPlanner(planner);
  yield* sliced.findLong(expr);
  return yield* sliced.plan(expr);
}

class SlicedPlanner {
  readonly #planner: Planner;
  /** Parts with something that takes long. */
  readonly #long = new Set<Expr>();
  #looked = 0;

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  *findLong(expr: Expr): Steps<void> {
    if (++this.#looked % limits.celPartsPerStep === 0) yield;
    const children = childrenOf(expr);
    for (const child of children) yield* this.findLong(child);
    const isLong =
      expr.kind === 'fold' || this.#planner.isLazy(expr) || children.some((child) => this.#long.has(child));
    if (isLong) this.#long.add(expr);
  }

  *plan(expr: Expr): Steps<SlicedStep> {
    if (!this.#long.has(expr)) return atOnce(yield* this.#planner.plan(expr));
    if (this.#planner.isLazy(expr)) return yield* this.#lazy(expr);
    switch (expr.kind) {
      case 'logic':
        return logic(expr, yield* this.#all(expr.terms));
      case 'conditional':
        return yield* this.#conditional(expr);
      case 'fold':
        return yield* this.#fold(expr);
      case 'optionalMap':
        return yield* this.#optionalMap(expr);
      default:
        return yield* this.#eager(expr);
    }
  }

  *#all(exprs: readonly Expr[]): Steps<readonly SlicedStep[]> {
    const steps: SlicedStep[] = [];
    for (const expr of exprs) steps.push(yield* this.plan(expr));
    return steps;
  }

  /** The selection of a field that is computed when it is read. */
  *#lazy(expr: Select): Steps<SlicedStep> {
    const operand = yield* this.#planner.plan(expr.operand);
    const slot = this.#planner.newSlot();
    const select = yield* this.#planner.planWith(expr, new Map([[expr.operand, readerOf(slot)]]));
    return function* (frame) {
      const map = operand(frame);
      if (map instanceof CelLazyMap) yield* map.prepare(expr.field);
      frame.slots[slot] = map;
      return select(frame);
    };
  }

  /** An expression that needs the values of all its parts: they are evaluated first. */
  *#eager(expr: Expr): Steps<SlicedStep> {
    const qualifier = expr.kind === 'call' && this.#planner.isQualified(expr) ? expr.target : undefined;
    const parts: { readonly step: SlicedStep; readonly slot: number }[] = [];
    const reads = new Map<Expr, Step>();
    for (const child of childrenOf(expr)) {
      if (child === qualifier) continue;
      const part = { step: yield* this.plan(child), slot: this.#planner.newSlot() };
      parts.push(part);
      reads.set(child, readerOf(part.slot));
    }
    const combine = yield* this.#planner.planWith(expr, reads);
    return function* (frame) {
      for (const { step, slot } of parts) frame.slots[slot] = yield* step(frame);
      return combine(frame);
    };
  }

  *#conditional(expr: Conditional): Steps<SlicedStep> {
    const condition = yield* this.plan(expr.condition);
    const [yes, no] = [yield* this.plan(expr.yes), yield* this.plan(expr.no)];
    return function* (frame) {
      return yield* asBool(yield* condition(frame)) ? yes(frame) : no(frame);
    };
  }

  *#optionalMap(expr: OptionalMap): Steps<SlicedStep> {
    const target = yield* this.plan(expr.target);
    const planBody = (): Steps<SlicedStep> => this.plan(expr.body);
    return yield* this.#planner.within(expr.variable, function* (slot): Steps<SlicedStep> {
      const body = yield* planBody();
      return function* (frame) {
        const { value } = asOptional(yield* target(frame));
        if (value === undefined) return CelOptional.none;
        frame.slots[slot] = value;
        const result = yield* body(frame);
        return expr.flat ? asOptional(result) : new CelOptional(result);
      };
    });
  }

  *#fold(expr: Fold): Steps<SlicedStep> {
    const range = yield* this.plan(expr.range);
    return yield* this.#planner.within(expr.first, (first) => {
      if (expr.second === undefined) return this.#loop(expr, range, [first]);
      return this.#planner.within(expr.second, (second) => this.#loop(expr, range, [first, second]));
    });
  }

  *#loop(expr: Fold, range: SlicedStep, [first, second]: readonly [number, number?]): Steps<SlicedStep> {
    const body = yield* this.plan(expr.body);
    const filter = expr.filter === undefined ? undefined : yield* this.plan(expr.filter);
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
}

const readerOf =
  (slot: number): Step =>
  (frame) =>
    frame.slots[slot] as CelValue;

const nothing: readonly never[] = [];

const atOnce = (step: Step): SlicedStep =>
  function* (frame) {
    yield* nothing;
    return step(frame);
  };

function logic({ operator }: Logic, steps: readonly SlicedStep[]): SlicedStep {
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

/** The value, or the fault that the collector may absorb. */
function* outcome(step: SlicedStep, frame: Frame): Generator<void, CelValue | CelFault> {
  try {
    return yield* step(frame);
  } catch (error) {
    if (error instanceof CelFault) return error;
    throw error;
  }
}
