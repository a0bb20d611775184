import { lengthOfText } from './library/text.ts';
import type { Expr } from './syntax.ts';

/** How large a value can be: characters, bytes, elements or entries. Infinity: nobody knows. */
export interface Size {
  readonly min: number;
  readonly max: number;
}

export const unknownSize: Size = { min: 0, max: Number.POSITIVE_INFINITY };

export const exactly = (size: number): Size => ({ min: size, max: size });

export const sum = (a: Size, b: Size): Size => ({ min: a.min + b.min, max: a.max + b.max });

/** Nothing, times an unknown number, is nothing. */
export const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

export const product = (a: Size, b: Size): Size => ({ min: times(a.min, b.min), max: times(a.max, b.max) });

/** Holds for both. */
export const union = (a: Size, b: Size): Size => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

/** The size that the source itself tells; undefined if there is none. */
export function sizeInSource(expr: Expr): Size | undefined {
  if (expr.kind === 'list') return exactly(expr.elements.length);
  if (expr.kind === 'map') return exactly(expr.entries.length);
  if (expr.kind !== 'literal') return undefined;
  const { value } = expr;
  if (typeof value === 'string') return exactly(lengthOfText(value));
  return exactly(value instanceof Uint8Array ? value.length : 1);
}
