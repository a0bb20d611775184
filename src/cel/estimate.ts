import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
import { type CallCost, callCost, type Operand } from './call-cost.ts';
import type { CelEnvironment, CelExtension } from './cel.ts';
import { type Checked, check } from './check.ts';
import { costOfConstruction, costOfList, costOfMap, foldCosts, turnCosts } from './meter.ts';
import { parseInSteps } from './parse.ts';
import { exactly, type Size, sizeInSource, times, union, unknownSize } from './size.ts';
import type { Call, Expr, Fold, Index, OptionalMap } from './syntax.ts';
import type { CelType } from './type.ts';

/**
 * A path from a variable to a part of its value: names of fields, and `@items`, `@keys` and `@values` for parts of lists and
 * maps. A variable of a macro over something without a path begins one of its own, as in cel-go.
 */
export type ValuePath = readonly string[];

/** What is known of the values of variables; undefined if nothing is. */
export type SizeOf = (path: ValuePath) => Size | undefined;

/**
 * The most that an evaluation can cost, by the estimate of cel-go 0.22 with the extensions of kube-apiserver 1.32. Infinity if
 * there is no bound. Throws CelCompileError. There are pauses in the work on a long expression.
 */
export function* estimateCost(
  source: string,
  environment: CelEnvironment,
  sizeOf: SizeOf,
  extension?: CelExtension,
): Steps<number> {
  const expr = yield* parseInSteps(source);
  return yield* new Estimator(yield* check(expr, source, environment, extension), sizeOf).cost(expr);
}

/** The variable of a macro, and those of the macros around it. */
interface Scope {
  readonly name: string;
  readonly path: ValuePath;
  readonly around: Scope | undefined;
}

class Estimator {
  readonly #checked: Checked;
  readonly #sizeOf: SizeOf;
  readonly #paths = new Map<Expr, ValuePath>();
  /** Of results of calls and macros. */
  readonly #sizes = new Map<Expr, Size>();
  #scope: Scope | undefined;
  #looked = 0;

  constructor(checked: Checked, sizeOf: SizeOf) {
    this.#checked = checked;
    this.#sizeOf = sizeOf;
  }

  *cost(expr: Expr): Steps<number> {
    if (++this.#looked % limits.celPartsPerStep === 0) yield;
    switch (expr.kind) {
      case 'literal':
        return 0;
      case 'ident':
        this.#paths.set(expr, this.#pathOf(expr.name));
        return 1;
      case 'select':
        return yield* this.#select(expr);
      case 'index':
        return yield* this.#index(expr);
      case 'call':
        return yield* this.#call(expr);
      case 'list':
        return (yield* this.#all(expr.elements.map(({ value }) => value))) + costOfList;
      case 'map':
        return (yield* this.#all(expr.entries.flatMap(({ key, value }) => [key, value]))) + costOfMap;
      case 'construction':
        return (yield* this.#all(expr.fields.map(({ value }) => value))) + costOfConstruction;
      case 'logic':
        return yield* this.#all(expr.terms);
      case 'conditional': {
        const condition = yield* this.cost(expr.condition);
        const cost = condition + Math.max(yield* this.cost(expr.yes), yield* this.cost(expr.no));
        this.#sizes.set(expr, union(this.#size(expr.yes), this.#size(expr.no)));
        return cost;
      }
      case 'fold':
        return yield* this.#fold(expr);
      case 'optionalMap':
        return yield* this.#optionalMap(expr);
    }
  }

  *#all(exprs: readonly Expr[]): Steps<number> {
    let total = 0;
    for (const each of exprs) total += yield* this.cost(each);
    return total;
  }

  #pathOf(name: string): ValuePath {
    for (let scope = this.#scope; scope !== undefined; scope = scope.around) if (scope.name === name) return scope.path;
    return [name];
  }

  *#select(expr: Extract<Expr, { kind: 'select' }>): Steps<number> {
    const named = this.#checked.typeNamed(expr);
    if (named !== undefined) {
      this.#paths.set(expr, [named]);
      return 1;
    }
    const cost = yield* this.cost(expr.operand);
    if (expr.mode === 'test') return cost;
    const type = this.#checked.typeOf(expr.operand);
    // An optional selection is a call.
    if (expr.mode === 'optional' || type.kind === 'optional') return cost + 1;
    this.#paths.set(expr, [...(this.#paths.get(expr.operand) ?? []), expr.field]);
    return cost + (type.kind === 'map' || type.kind === 'struct' ? 1 : 0);
  }

  *#index(expr: Index): Steps<number> {
    const cost = (yield* this.cost(expr.operand)) + (yield* this.cost(expr.index)) + 1;
    const type = this.#checked.typeOf(expr.operand);
    if (!expr.optional && type.kind !== 'optional') {
      const step = type.kind === 'list' ? '@items' : '@values';
      this.#paths.set(expr, [...(this.#paths.get(expr.operand) ?? []), step]);
    }
    return cost;
  }

  *#call(expr: Call): Steps<number> {
    const parts =
      expr.target === undefined || this.#checked.isQualified(expr) ? expr.args : [expr.target, ...expr.args];
    const cost = yield* this.#all(parts);
    const operands = parts.map((part) => this.#operand(part));
    let [most, size]: [number, Size | undefined] = [0, undefined];
    for (const overload of this.#checked.overloadsOf(expr)) {
      const call: CallCost = callCost(overload, operands);
      most = Math.max(most, call.max);
      if (call.size) size = size ? union(size, call.size) : call.size;
    }
    if (size) this.#sizes.set(expr, size);
    return cost + most;
  }

  #operand(expr: Expr): Operand {
    const path = this.#paths.get(expr);
    const elementSize = (path && this.#sizeOf([...path, '@items'])) ?? unknownSize;
    const looseSize = this.#knownSize(expr) ?? unknownSize;
    const callSize = this.#sizes.get(expr);
    return { expr, type: this.#checked.typeOf(expr), size: this.#size(expr), looseSize, callSize, elementSize };
  }

  #knownSize(expr: Expr): Size | undefined {
    const path = this.#paths.get(expr);
    return this.#sizes.get(expr) ?? sizeInSource(expr) ?? (path && this.#sizeOf(path));
  }

  #size(expr: Expr): Size {
    return this.#knownSize(expr) ?? (scalars.has(this.#checked.typeOf(expr).kind) ? exactly(1) : unknownSize);
  }

  /** The costs are those of the macros' expansions: their condition, accumulation and result. */
  *#fold(expr: Fold): Steps<number> {
    const { range, first, second, filter, body, operation } = expr;
    const around = this.#scope;
    const cost = yield* this.cost(range);
    const type = this.#checked.typeOf(range);
    const step = type.kind === 'map' ? '@keys' : '@items';
    const path = type.kind === 'map' || type.kind === 'list' ? [...(this.#paths.get(range) ?? []), step] : [];
    this.#scope = { name: first, path, around };
    if (second !== undefined) this.#scope = { name: second, path: [second], around: this.#scope };
    const test = filter === undefined ? 0 : yield* this.cost(filter);
    const turn = test + (yield* this.cost(body)) + turnCosts[operation];
    this.#scope = around;
    const size = this.#size(range);
    this.#sizes.set(expr, size);
    return cost + times(size.max, turn) + foldCosts[operation];
  }

  /** `target.hasValue() ? optional.of(body) : optional.none()`. */
  *#optionalMap({ target, variable, body }: OptionalMap): Steps<number> {
    const around = this.#scope;
    const cost = yield* this.cost(target);
    this.#scope = { name: variable, path: [variable], around };
    const result = yield* this.cost(body);
    this.#scope = around;
    return cost + 1 + (1 + costOfList + cost + 1 + result);
  }
}

/** Types whose values have the size 1. */
const scalars: ReadonlySet<CelType['kind']> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);
