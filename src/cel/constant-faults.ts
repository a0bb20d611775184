import { limits } from '../base/limits.ts';
import { allAtOnce, type Steps } from '../base/time/in-slices.ts';
import { CelFault } from './fault.ts';
import { invalidPattern } from './library/patterns.ts';
import { Meter } from './meter.ts';
import type { Planning } from './step.ts';
import { type Call, childrenOf, type Expr } from './syntax.ts';

/** Conversions, which kube-apiserver evaluates before a program runs if their argument is a constant. */
const conversions: ReadonlySet<string> = new Set([
  ...['bool', 'bytes', 'double', 'duration', 'dyn', 'int', 'string', 'timestamp', 'uint'],
]);

/** Searches, whose patterns it compiles before a program runs. */
const searches: ReadonlySet<string> = new Set(['find', 'findAll']);

/**
 * Why an expression cannot become a program, although its types are right: a constant that has no value, such as `int("x")`,
 * or a wrong pattern of a search. It does not matter whether the part would ever be evaluated. As in kube-apiserver, other
 * operations on constants, such as `1 / 0`, fail at evaluation only.
 * There are pauses in the work on a long expression.
 */
export function* constantFault(expr: Expr, planner: Planning): Steps<string | undefined> {
  try {
    yield* new Constants(planner).lookAt(expr);
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.reason;
    throw error;
  }
}

class Constants {
  readonly #planner: Planning;
  #looked = 0;

  constructor(planner: Planning) {
    this.#planner = planner;
  }

  /** Evaluates what is constant, each constant once: conversions of conversions with the outermost. */
  *lookAt(expr: Expr): Steps<void> {
    if (!(yield* this.#isConstant(expr)) || expr.kind !== 'call') return;
    const step = allAtOnce(this.#planner.plan(expr));
    step({ meter: new Meter(limits.celCostMax), variable: () => undefined, slots: [] });
  }

  /** Looks at the parts of what is not. */
  *#isConstant(expr: Expr): Steps<boolean> {
    if (++this.#looked % limits.celPartsPerStep === 0) yield;
    if (expr.kind === 'literal') return true;
    const parts = childrenOf(expr);
    const [argument] = parts;
    if (argument && parts.length === 1 && isConversion(expr)) return yield* this.#isConstant(argument);
    for (const part of parts) if (part.kind !== 'literal' && part.kind !== 'ident') yield* this.lookAt(part);
    if (expr.kind === 'call' && searches.has(expr.name)) checkPattern(expr);
    return false;
  }
}

const isConversion = (expr: Expr): boolean =>
  expr.kind === 'call' && expr.target === undefined && conversions.has(expr.name);

function checkPattern({ target, args: [pattern] }: Call): void {
  if (target === undefined || pattern?.kind !== 'literal' || typeof pattern.value !== 'string') return;
  const problem = invalidPattern(pattern.value);
  if (problem !== undefined) throw new CelFault(problem);
}
