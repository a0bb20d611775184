import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { goTextMap, goTexts, goValue } from './go-values.ts';

/**
 * A validation error of one field, kept as data until the message is built. Types and texts are those of kube-apiserver
 * 1.32 in `details.causes` of a Status.
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
  /** `spec.containers[0].name`; map keys in brackets: `metadata.labels[a/b]`. */
  readonly field: string;
  /** Message without the field and the value: 'must be no more than 253 characters'. */
  readonly detail: string;
  /** The rejected value. Absent if it is secret or adds nothing. */
  readonly value?: unknown;
  /** How the text shows the value, where its form does not follow from the value alone: see `go-values.ts`. */
  readonly shown?: string;
  /** Where it stands among others, if not at its field: behind all errors of that field. */
  readonly toldAfter?: string;
  /** The text shows the value as Go prints one of a custom resource. Printed when the text is made: most errors have none. */
  readonly asGo?: true;
  /** An update may leave it where the object had such an error before: the rule came later than the objects. */
  readonly mayStay?: true;
}

/** The same errors, behind all others of a field that may hold theirs. */
export const toldAfter = (field: string, errors: readonly FieldError[]): FieldError[] =>
  errors.map((error) => ({ ...error, toldAfter: field }));

export const required = (field: string, detail = ''): FieldError => ({ type: 'FieldValueRequired', field, detail });

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  value,
  detail,
});

/** An invalid list of strings, which kube-apiserver shows as Go writes it. `item` is the Go type of the strings. */
export const invalidTexts = (
  field: string,
  values: readonly string[],
  detail: string,
  item = 'string',
): FieldError => ({
  ...invalid(field, values, detail),
  shown: goTexts(values, item),
});

/** An invalid name, of a type that shows itself without quotes. */
export const invalidName = (field: string, name: string, detail: string): FieldError => ({
  ...invalid(field, name, detail),
  shown: name,
});

/** An invalid map of strings, likewise: in order of keys. */
export const invalidMap = (
  field: string,
  values: Readonly<Record<string, string>> | undefined,
  detail: string,
): FieldError => ({
  ...invalid(field, values ?? null, detail),
  shown: goTextMap(values),
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  value,
  detail: '',
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError =>
  notSupportedOf(field, value, [...supported].sort());

/** The same, with the supported values in the order given. */
export const notSupportedOf = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  value,
  detail: `supported values: ${supported.map((each) => JSON.stringify(each)).join(', ')}`,
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

/** Limits the length of a list or map. A list that was already longer may stay as it is or shrink. */
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

/** Message of an error without its field: `Invalid value: "Bad_Name": a lowercase RFC 1123 ...`. */
export function describeFieldError(error: FieldError): string {
  const parts = [titles[error.type]];
  if ('value' in error && error.value !== undefined)
    parts.push(error.shown ?? (error.asGo ? goValue : shownValue)(error.value));
  if (error.detail !== '') parts.push(error.detail);
  return parts.join(': ');
}

/** A value as kube-apiserver shows it, as far as it can be told from the value alone. */
function shownValue(value: unknown): string {
  if (value === null) return '"null"';
  return Array.isArray(value) && value.every(isText) ? goTexts(value) : jsonText(value);
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Collects the errors of all items and stops at `limits.findingsMax`, so that one request causes bounded work. */
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
