import type { CelBudget } from './budget.ts';
import type { Overload } from './overload.ts';
import type { CelType } from './type.ts';
import type { CelValue } from './value.ts';

/**
 * Expressions in the Common Expression Language (CEL), as kube-apiserver 1.32 supports them in its configuration:
 * type-checked at compile time, limited in evaluation cost, with access to nothing but their variables.
 */
export interface Cel {
  /**
   * Throws CelCompileError if the source does not parse, uses undeclared names, or has a result type that is not in
   * `returns` (default: any type). A result of type `dyn` does not count as bool.
   */
  compile(source: string, environment: CelEnvironment, options?: CelCompileOptions): CelProgram;
}

/** The variables available to an expression, with their types. */
export type CelEnvironment = Readonly<Record<string, CelType>>;

export interface CelCompileOptions {
  readonly returns?: readonly CelType[];
  readonly extension?: CelExtension;
}

/** What some environments have beside their variables. */
export interface CelExtension {
  /** The type with this name, if expressions can make values of it: `Name{field: value}`. */
  constructorOf(typeName: string): CelConstructor | undefined;
  /** Functions without a receiver. */
  functions(name: string): readonly Overload[] | undefined;
  /** Functions with a receiver, beside those of this name that there are. */
  methods?(name: string): readonly Overload[] | undefined;
}

export interface CelConstructor {
  readonly type: CelType;
  /** The type of a field; undefined if there is no such field. */
  fieldType(name: string): CelType | undefined;
  /** Makes a value of fields with values of their types. */
  construct(fields: ReadonlyMap<string, CelValue>): CelValue;
}

/** A compiled expression: immutable, can be evaluated any number of times. */
export interface CelProgram {
  readonly source: string;
  /** The static type of the result. */
  readonly type: CelType;
  /**
   * Evaluates with `variables` as JSON data: strings, booleans, null, lists, plain objects, and numbers, where whole
   * numbers are ints (as are bigints) and others are doubles. Only own properties of objects are visible.
   *
   * Returns string, boolean, null; `bigint` for int, `number` for double; an array of these for a list; for other types
   * see `CelValue`. Throws CelEvaluationError. The cost is limited by `limits.celCostMax` and deducted from `budget`.
   */
  evaluate(variables: Readonly<Record<string, unknown>>, budget?: CelBudget): unknown;
  /** Whether the expression selects the field of the variable: `claims.email`, `claims.?email`, `has(claims.email)`. */
  selects(variable: string, field: string): boolean;
  /** Whether the expression selects a field of this name from any operand. */
  selectsField(field: string): boolean;
}

/** Loads the compiler and evaluator when the first expression is compiled, to keep them out of the server's start. */
export async function loadCel(): Promise<Cel> {
  const { compile } = await import('./compile.ts');
  return { compile };
}
