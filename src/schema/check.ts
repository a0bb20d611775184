import type { FieldError } from '../meta/field-error.ts';
import { joinPath } from './field-path.ts';
import { getOwn, isRecord } from './own-property.ts';

/** An error whose path is relative to the checked value. */
export interface Finding extends FieldError {
  /** Builds the detail from the full path, for messages that repeat it. */
  readonly describe?: (path: string) => string;
  /** Keys of maps are in brackets, although the schema is structural. */
  readonly keys?: 'bracketed';
  /** As in kube-apiserver, the error is one of the whole object, and its detail alone says where the value is. */
  readonly of?: 'whole';
  /**
   * An error that an update has even if it does not change the value. `duplicates`: unless the old object has duplicates
   * anywhere.
   */
  readonly ratchet?: 'never' | 'duplicates';
}

/** Appends the errors of a value to `findings`. `old` is the value that an update replaces; undefined if there is none. */
export type Check<T = unknown> = (value: T, findings: Finding[], old?: unknown) => void;

/** Combines checks into one; undefined if there are none. */
export function all<T>(...parts: readonly (Check<T> | undefined)[]): Check<T> | undefined {
  const some = parts.filter((part) => part !== undefined);
  const [first, second, third] = some;
  if (!first || !second) return first;
  if (!third) {
    return (value, findings, old) => {
      first(value, findings, old);
      second(value, findings, old);
    };
  }
  return (value, findings, old) => {
    for (const check of some) check(value, findings, old);
  };
}

/** Prepends a step to the paths of the findings at index `from` and after. */
export function prefix(findings: Finding[], from: number, step: string): void {
  for (const [index, finding] of findings.slice(from).entries()) {
    findings[from + index] = { ...finding, field: joinPath(step, finding.field) };
  }
}

/** Runs a check on a part of a value, at `step` below it. */
export function checkPart(check: Check, part: unknown, findings: Finding[], step: string, old?: unknown): void {
  const found = findings.length;
  check(part, findings, old);
  if (findings.length > found) prefix(findings, found, step);
}

/** Runs a check on a value of a map; in paths of custom resources the key stands like a field. */
export function checkKey(check: Check, part: unknown, findings: Finding[], key: string, old?: unknown): void {
  const found = findings.length;
  check(part, findings, old);
  for (const [index, finding] of findings.slice(found).entries()) {
    const step = finding.keys === 'bracketed' ? `[${key}]` : key;
    findings[found + index] = { ...finding, field: joinPath(step, finding.field) };
  }
}

/** The value of a field or key in the value that an update replaces. */
export const oldPart = (old: unknown, name: string): unknown => (isRecord(old) ? getOwn(old, name) : undefined);

/** Converts findings to errors. Their paths must be complete; `whole` is that of the object. */
export const asErrors = (findings: readonly Finding[], whole: string): FieldError[] =>
  findings.map(({ describe, keys, ratchet, of, ...error }) => ({
    ...error,
    ...(describe && { detail: describe(error.field) }),
    ...(of && { field: whole }),
  }));
