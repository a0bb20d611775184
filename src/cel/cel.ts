import type { CelBudget } from './budget.ts';
import type { CelType } from './type.ts';

/**
 * Expressions in the Common Expression Language, as published 1.32 servers offer them in their configuration: checked
 * against declared types when they are read, bounded in what they cost when they are evaluated, and without access to
 * anything but their variables.
 */
export interface Cel {
  /**
   * Throws CelCompileError for a source that does not parse, uses undeclared names, or whose type is none of
   * `returns` (absent: any type will do). A result that is known only when evaluated (`dyn`) is not a bool.
   */
  compile(source: string, environment: CelEnvironment, options?: CelCompileOptions): CelProgram;
}

/** The variables that an expression can use, with their types. */
export type CelEnvironment = Readonly<Record<string, CelType>>;

export interface CelCompileOptions {
  readonly returns?: readonly CelType[];
}

/** A compiled expression: immutable, evaluated any number of times. */
export interface CelProgram {
  readonly source: string;
  /** The type of its result as far as it is known without evaluating. */
  readonly type: CelType;
  /**
   * The value, with `variables` as data of JSON: strings, booleans, null, lists, plain objects, and numbers, of which
   * whole ones are ints (as bigints are) and others doubles. Objects are read by their own fields only.
   *
   * The result: string, boolean, null; `bigint` for int, `number` for double; a list is an array of these; for the rest
   * see `CelValue`. Throws CelEvaluationError. What it costs is bounded by `limits.celCostMax`, and taken from `budget`.
   */
  evaluate(variables: Readonly<Record<string, unknown>>, budget?: CelBudget): unknown;
  /** True where the expression selects the field of the variable: `claims.email`, `claims.?email`, `has(claims.email)`. */
  selects(variable: string, field: string): boolean;
  /** True where the expression selects a field of this name from anything. */
  selectsField(field: string): boolean;
}

/** Loads what compiles and evaluates; done once, when the first expression is met, to keep it out of the server's start. */
export async function loadCel(): Promise<Cel> {
  const { compile } = await import('./compile.ts');
  return { compile };
}
