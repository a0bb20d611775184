import type { CelValue } from './value.ts';

/**
 * The syntax tree, with macros expanded. `at` is the offset in the source, as kube-apiserver shows it: of operators that of
 * the operator, of selections that of the dot, of calls that of the parenthesis.
 */
export type Expr =
  | { readonly kind: 'literal'; readonly at: number; readonly value: CelValue }
  | { readonly kind: 'ident'; readonly at: number; readonly name: string }
  | Select
  | Index
  | Call
  | { readonly kind: 'list'; readonly at: number; readonly elements: readonly Element[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly Entry[] }
  | Construction
  | Logic
  | Conditional
  | Fold
  | OptionalMap;

/** `operand.field`; `operand.?field` if optional, `has(operand.field)` if a presence test. */
export interface Select {
  readonly kind: 'select';
  readonly at: number;
  readonly operand: Expr;
  readonly field: string;
  readonly mode: 'plain' | 'optional' | 'test';
}

/** `operand[index]`, `operand[?index]`. */
export interface Index {
  readonly kind: 'index';
  readonly at: number;
  readonly operand: Expr;
  readonly index: Expr;
  readonly optional: boolean;
}

/** `name(args)`, `target.name(args)`, and operators, named like `_+_`. */
export interface Call {
  readonly kind: 'call';
  readonly at: number;
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

/** An element of a list; `[?value]` is omitted if the optional is empty. */
export interface Element {
  readonly value: Expr;
  readonly optional: boolean;
}

export interface Entry {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

/** `Name.of.type{field: value}`; a `?field` is omitted if its optional value is empty. */
export interface Construction {
  readonly kind: 'construction';
  readonly at: number;
  readonly typeName: string;
  readonly fields: readonly FieldValue[];
}

interface FieldValue {
  readonly name: string;
  /** The offset of the name. */
  readonly at: number;
  readonly value: Expr;
  readonly optional: boolean;
}

/** A chain of `&&` or `||` as one node, so that long chains are not deep. */
export interface Logic {
  readonly kind: 'logic';
  readonly at: number;
  readonly operator: '&&' | '||';
  readonly terms: readonly Expr[];
}

export interface Conditional {
  readonly kind: 'conditional';
  readonly at: number;
  readonly condition: Expr;
  readonly yes: Expr;
  readonly no: Expr;
}

export type FoldOperation =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'filter'
  | 'map'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry';

/**
 * A macro that iterates over a list or the keys of a map: `range.all(first, body)`, `range.map(first, filter, body)`.
 */
export interface Fold {
  readonly kind: 'fold';
  readonly at: number;
  readonly operation: FoldOperation;
  readonly range: Expr;
  /** With `second`: `first` is the index or key, and `second` the element or value. */
  readonly first: string;
  readonly second: string | undefined;
  readonly filter: Expr | undefined;
  readonly body: Expr;
}

/** `target.optMap(variable, body)`, `target.optFlatMap(variable, body)`. */
export interface OptionalMap {
  readonly kind: 'optionalMap';
  readonly at: number;
  readonly target: Expr;
  readonly variable: string;
  readonly body: Expr;
  readonly flat: boolean;
}

/** The direct children of an expression. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [expr.operand];
    case 'index':
      return [expr.operand, expr.index];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.elements.map((element) => element.value);
    case 'map':
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'construction':
      return expr.fields.map(({ value }) => value);
    case 'logic':
      return expr.terms;
    case 'conditional':
      return [expr.condition, expr.yes, expr.no];
    case 'fold':
      return expr.filter === undefined ? [expr.range, expr.body] : [expr.range, expr.filter, expr.body];
    case 'optionalMap':
      return [expr.target, expr.body];
  }
}

/** Whether the expression or any of its descendants satisfies `test`. */
export const someExpr = (expr: Expr, test: (expr: Expr) => boolean): boolean =>
  test(expr) || childrenOf(expr).some((child) => someExpr(child, test));
