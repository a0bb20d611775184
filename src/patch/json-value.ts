import { isRecord, setOwn } from '../schema/own-property.ts';
import type { PatchBudget } from './patch-budget.ts';

/**
 * Equality as in RFC 6902 section 4.6: numbers by value, whether number or bigint; objects regardless of member order.
 * The cost is the size of `expected` plus the members of the compared objects.
 */
export function jsonEqual(actual: unknown, expected: unknown, budget: PatchBudget): boolean {
  if (actual === expected) return true;
  if (isNumeric(actual) && isNumeric(expected)) return actual >= expected && actual <= expected;
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.length === expected.length && expected.every((each, at) => jsonEqual(actual[at], each, budget));
  }
  if (!isRecord(actual) || !isRecord(expected)) return false;
  const names = Object.keys(expected);
  for (const name of names) {
    if (!Object.hasOwn(actual, name) || !jsonEqual(actual[name], expected[name], budget)) return false;
  }
  const count = Object.keys(actual).length;
  budget.spend(count);
  return count === names.length;
}

const isNumeric = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

/** Nesting depth: 0 for a scalar, 1 for a container that holds only scalars. */
export function depthOf(value: unknown, budget: PatchBudget): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = Array.isArray(value) ? value : Object.values(value);
  budget.spend(children.length);
  let deepest = 0;
  for (const child of children) deepest = Math.max(deepest, depthOf(child, budget));
  return deepest + 1;
}

/** A deep copy. Several times faster than structuredClone. */
export const cloneJson = <T>(value: T): T => clone(value) as T;

function clone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clone);
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) setOwn(copy, name, clone(each));
  return copy;
}
