import { jsonText } from '../base/json-text.ts';
import { badRequest, StatusError } from '../meta/status-error.ts';

/**
 * 400: the patch is invalid for any object (RFC 5789 section 2.2, "malformed patch document"). `field` is the location
 * in the patch: `[3].path`, `spec.containers[0]`, or '' for the patch itself.
 */
export const malformedPatch = (field: string, problem: string): StatusError =>
  badRequest(`error decoding patch: ${at(field)}${problem}`);

/** kube-apiserver 1.32 sends only this sentence for a 422. */
const rejected = 'the server rejected our request due to an error in our request';

/** 422: the patch is well-formed but cannot be applied to this object. `field` as in `malformedPatch`. */
export const doesNotApply = (field: string, problem: string, cause?: unknown): StatusError =>
  new StatusError('Invalid', `${rejected}: ${at(field)}${problem}`, {
    cause,
    details: { causes: [{ reason: 'FieldValueInvalid', message: problem, ...(field !== '' && { field }) }] },
  });

/** Cause of the error of a `test` operation that found another value. */
export const testFailure = new Error('a test of a JSON patch failed');

/** Why a patch cannot be read or applied, without the words around. */
export const problemOf = ({ message, details }: StatusError): string => details?.causes?.[0]?.message ?? message;

const at = (field: string): string => (field === '' ? '' : `${field}: `);

const shownLengthMax = 256;

/** Text from the patch, truncated if long. */
export const shorten = (text: string): string =>
  text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}...` : text;

/** A value from the patch as JSON, truncated if long. */
export const shown = (value: unknown): string => shorten(jsonText(value));

/** The JSON type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
