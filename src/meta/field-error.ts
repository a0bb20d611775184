import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';

/**
 * What is wrong with a field of an object: sorted data first, text last. The types and their texts are those that
 * clients of published 1.32 servers see in a Status' `details.causes`.
 */
type FieldErrorType =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueDuplicate'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotFound'
  | 'InternalError';

export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name`; keys of maps in brackets: `metadata.labels[a/b]`. */
  readonly field: string;
  /** Without the field and the value: 'must be no more than 253 characters'. */
  readonly detail: string;
  /** The value as JSON text for the message; absent where it would say nothing or is secret. */
  readonly value?: unknown;
}

export const required = (field: string, detail = ''): FieldError => ({ type: 'FieldValueRequired', field, detail });

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  value,
  detail,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  value,
  detail: '',
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  value,
  detail: `supported values: ${[...supported]
    .sort()
    .map((each) => JSON.stringify(each))
    .join(', ')}`,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  detail,
});

export const tooLong = (field: string, bytesMax: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  detail: `may not be more than ${bytesMax} bytes`,
});

export const tooMany = (field: string, count: number, countMax: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  value: count,
  detail: `must have at most ${countMax} items`,
});

/** A list or map that is too long; one that was longer already may stay as it is, or shrink. */
export const boundedCount = (field: string, count: number, countMax: number, countBefore = 0): FieldError[] =>
  count > Math.max(countMax, countBefore) ? [tooMany(field, count, countMax)] : [];

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueNotFound: 'Not found',
  InternalError: 'Internal error',
};

/** The text of one error without its field: `Invalid value: "Bad_Name": a lowercase RFC 1123 ...`. */
export function describeFieldError(error: FieldError): string {
  const parts = [titles[error.type]];
  if ('value' in error && error.value !== undefined) parts.push(jsonText(error.value));
  if (error.detail !== '') parts.push(error.detail);
  return parts.join(': ');
}

/** The errors of all items, up to `limits.findingsMax`; then it stops looking, so that what a client causes is bounded. */
export function errorsOfEach<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    for (const error of check(item, index++)) {
      if (errors.length === limits.findingsMax) return errors;
      errors.push(error);
    }
  }
  return errors;
}
