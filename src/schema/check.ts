import type { FieldError } from '../meta/field-error.ts';
import { joinPath } from './field-path.ts';

/** An error whose path is relative to the checked value. */
export interface Finding extends FieldError {
  /** Builds the detail from the full path, for messages that repeat it. */
  readonly describe?: (path: string) => string;
}

/** Appends the errors of a value to `findings`. */
export type Check<T = unknown> = (value: T, findings: Finding[]) => void;

/** Combines checks into one; undefined if there are none. */
export function all<T>(...parts: readonly (Check<T> | undefined)[]): Check<T> | undefined {
  const some = parts.filter((part) => part !== undefined);
  if (some.length < 2) return some[0];
  return (value, findings) => {
    for (const check of some) check(value, findings);
  };
}

/** Prepends a step to the paths of the findings at index `from` and after. */
export function prefix(findings: Finding[], from: number, step: string): void {
  for (const [index, finding] of findings.slice(from).entries()) {
    findings[from + index] = { ...finding, field: joinPath(step, finding.field) };
  }
}

/** Runs a check on a part of a value, at `step` below it. */
export function checkPart(check: Check, part: unknown, findings: Finding[], step: string): void {
  const found = findings.length;
  check(part, findings);
  if (findings.length > found) prefix(findings, found, step);
}

/** Converts findings to errors. Their paths must be complete. */
export const asErrors = (findings: readonly Finding[]): FieldError[] =>
  findings.map(({ describe, ...error }) => (describe ? { ...error, detail: describe(error.field) } : error));
