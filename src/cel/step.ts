import { CelFault } from './fault.ts';
import type { Meter } from './meter.ts';
import type { Expr } from './syntax.ts';
import { type CelValue, typeNameOf } from './value.ts';

/** What one evaluation works with. */
export interface Frame {
  readonly meter: Meter;
  /** The variables as they were given. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Variables that were read, and those of macros; by their slots. */
  readonly slots: (CelValue | undefined)[];
}

/** Gives the value of an expression, or throws a CelFault. */
export type Step = (frame: Frame) => CelValue;

/** Turns expressions into steps. */
export interface Planning {
  plan(expr: Expr): Step;
  /** Plans what lies within a macro, where a name stands for a slot of its own. */
  within<T>(name: string, act: (slot: number) => T): T;
}

export function asBool(value: CelValue): boolean {
  if (typeof value === 'boolean') return value;
  throw new CelFault(`no such overload: bool expected, found ${typeNameOf(value)}`);
}
