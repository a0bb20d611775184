import type { FieldError } from '../meta/field-error.ts';
import { joinPath } from './field-path.ts';

/** An error whose path is relative to the value that was looked at. */
export interface Finding extends FieldError {
  /** Makes the detail of the whole path, where the text repeats it. */
  readonly describe?: (path: string) => string;
}

/** Adds what is wrong with a value. */
export type Check<T = unknown> = (value: T, findings: Finding[]) => void;

/** One check of several; undefined where there is none. */
export function all<T>(...parts: readonly (Check<T> | undefined)[]): Check<T> | undefined {
  const some = parts.filter((part) => part !== undefined);
  if (some.length < 2) return some[0];
  return (value, findings) => {
    for (const check of some) check(value, findings);
  };
}

/** Puts a step in front of the paths of the findings from `from` on. */
export function prefix(findings: Finding[], from: number, step: string): void {
  for (const [index, finding] of findings.slice(from).entries()) {
    findings[from + index] = { ...finding, field: joinPath(step, finding.field) };
  }
}

/** Runs a check on a part of a value. */
export function checkPart(check: Check, part: unknown, findings: Finding[], step: string): void {
  const found = findings.length;
  check(part, findings);
  if (findings.length > found) prefix(findings, found, step);
}

/** Findings as errors, once their paths are whole. */
export const asErrors = (findings: readonly Finding[]): FieldError[] =>
  findings.map(({ describe, ...error }) => (describe ? { ...error, detail: describe(error.field) } : error));
