import type { Steps } from '../base/time/in-slices.ts';
import { CelFault } from './fault.ts';
import type { Meter } from './meter.ts';
import type { Expr } from './syntax.ts';
import { type CelValue, typeNameOf } from './value.ts';

/** The state of one evaluation. */
export interface Frame {
  readonly meter: Meter;
  /** Reads a variable as passed by the caller; undefined if it has no value. */
  readonly variable: (name: string) => CelValue | undefined;
  /** Variables already converted, and those of macros; by slot. */
  readonly slots: (CelValue | undefined)[];
}

/** Returns the value of an expression, or throws a CelFault. */
export type Step = (frame: Frame) => CelValue;

/** Converts expressions into steps, with pauses in the work on a long one. */
export interface Planning {
  plan(expr: Expr): Steps<Step>;
  /** Plans expressions within a macro, where `name` refers to a slot of its own. */
  within<T>(name: string, act: (slot: number) => Steps<T>): Steps<T>;
}

export function asBool(value: CelValue): boolean {
  if (typeof value === 'boolean') return value;
  throw new CelFault(`no such overload: bool expected, found ${typeNameOf(value)}`);
}
