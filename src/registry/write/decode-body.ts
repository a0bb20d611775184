import type { GroupVersionKind, StoredAs } from '../../kinds/kind.ts';
import { apiVersionOf, canonical } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { invalid } from '../../meta/field-error.ts';
import { badRequest, invalidObject, type StatusError } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import { keepNulls } from '../../schema/kept-nulls.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { VerbRequest } from '../verb.ts';
import type { WriteOptions } from './write-options.ts';

/** Expected kind of a body. */
interface ExpectedKind extends NamedKind {
  readonly schema: StructSchema;
  readonly storedAs?: StoredAs;
}

/** What a value may say that it is. */
interface NamedKind extends GroupVersionKind {
  /** Further versions in which it may be sent, with the same fields. */
  readonly alsoFrom?: readonly Pick<GroupVersionKind, 'group' | 'version'>[];
}

/**
 * Decodes the body into the stored form: checks kind and types, handles unknown fields as `fieldValidation` says (spec
 * section 4.6), applies schema defaults. A body without `kind` or `apiVersion` is taken to be of the kind of the path.
 */
export function decodeBody(
  request: VerbRequest,
  expected: ExpectedKind,
  options: Pick<WriteOptions, 'fieldValidation'>,
): ApiObject {
  const { body } = request;
  if (body === undefined) throw badRequest(`a ${expected.kind} is expected in the body of the request`);
  return decodeObject(body.value, expected, (fields, unknown) => {
    const { structural } = expected.schema;
    const duplicates = duplicateFields(structural ? body.duplicates : outside(unknown, body.duplicates));
    // Custom objects are pruned after they have been read.
    const problems = structural ? [...duplicates, ...fields] : [...fields, ...duplicates];
    checkUnknown(request, options, problems, (message) => cannotBeHandled(expected, message));
  });
}

interface DecodeOptions {
  /** Nulls of custom objects that are no values of their fields: `absent` (the default), or `kept` for validation to refuse. */
  readonly nulls?: 'absent' | 'kept';
}

/**
 * Decodes and defaults a value, then converts it to the storage version. `onUnknown` receives a message for each
 * unknown field, and their paths.
 */
export function decodeObject(
  value: unknown,
  expected: ExpectedKind,
  onUnknown: (fields: readonly string[], paths: readonly string[]) => void,
  { nulls = 'absent' }: DecodeOptions = {},
): ApiObject {
  if (expected.schema.structural) checkCustomKind(value, expected);
  const decoded = decode(expected.schema, withKind(value, expected));
  const [first] = decoded.errors;
  if (first) {
    const errors = decoded.errors.map(({ path, expected: wanted, got }) => `${path}: expected ${wanted}, got ${got}`);
    throw cannotBeHandled(expected, errors.join(', '));
  }
  const unknown = expected.schema.structural ? decoded.unknown.toSorted(inOrderOfPruning) : decoded.unknown;
  onUnknown([...unknownFields(unknown), ...furtherFields(decoded.omitted)], unknown);
  if (nulls === 'kept') keepNulls(expected.schema, value, decoded.value);
  applyDefaults(expected.schema, decoded.value);
  const object = decoded.value as unknown as ApiObject;
  const { storedAs } = expected;
  return storedAs ? canonical(storedAs.kind, storedAs.toStored(object)) : object;
}

/** A custom object that says it is of another kind is not malformed, but invalid. */
function checkCustomKind(value: unknown, { group, kind: expected }: NamedKind): void {
  if (!isRecord(value)) return;
  const { kind, metadata } = value;
  if (typeof kind !== 'string' || kind === '' || kind === expected) return;
  const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  throw invalidObject({ group, kind }, name, [invalid('kind', kind, `must be ${expected}`)]);
}

/** As in kube-apiserver, unknown fields are sorted, those of metadata after the others. */
function inOrderOfPruning(one: string, other: string): number {
  const [isOneMeta, isOtherMeta] = [one, other].map((path) => /(?:^|\.)metadata\./.test(path));
  if (isOneMeta !== isOtherMeta) return isOneMeta ? 1 : -1;
  return one < other ? -1 : 1;
}

/** The published refusal of a body, not of a patch. */
const cannotBeHandled = ({ kind, version }: GroupVersionKind, problem: string): StatusError =>
  badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${problem}`);

/** Field validation messages for unknown fields. */
const unknownFields = (paths: readonly string[]): readonly string[] =>
  paths.map((path) => `unknown field ${JSON.stringify(path)}`);

/** Field validation message for unknown fields beyond those listed. */
const furtherFields = (count = 0): readonly string[] => (count === 0 ? [] : [`${count} further unknown fields`]);

/** Field validation messages for duplicate fields. */
export const duplicateFields = (paths: readonly string[]): readonly string[] =>
  paths.map((path) => `duplicate field ${JSON.stringify(path)}`);

/** Those of the paths that are not, and do not lie within, an unknown field: kube-apiserver does not look into them. */
function outside(unknown: readonly string[], paths: readonly string[]): readonly string[] {
  const within = (path: string, field: string): boolean =>
    path.startsWith(field) && /^([.[]|$)/.test(path.slice(field.length));
  return paths.filter((path) => !unknown.some((field) => within(path, field)));
}

/** The value as an object of the expected kind; `kind` and `apiVersion` may be omitted. */
export function withKind(
  value: unknown,
  expected: NamedKind,
  otherVersion: (sent: string, wanted: string) => string = differentVersion,
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(`the body of the request must be an object of kind ${expected.kind}`);
  }
  const { kind, apiVersion, ...rest } = value as Record<string, unknown>;
  const expectedVersion = apiVersionOf(expected);
  const accepted = [expected, ...(expected.alsoFrom ?? [])].map(apiVersionOf);
  if (apiVersion !== undefined && apiVersion !== '' && !accepted.some((version) => version === apiVersion)) {
    throw badRequest(otherVersion(typeof apiVersion === 'string' ? apiVersion : typeof apiVersion, expectedVersion));
  }
  if (kind !== undefined && kind !== '' && kind !== expected.kind) {
    throw badRequest(
      `the kind in the data (${JSON.stringify(kind)}) does not match the expected kind (${expected.kind})`,
    );
  }
  return { kind: expected.kind, apiVersion: expectedVersion, ...rest };
}

const differentVersion = (sent: string, wanted: string): string =>
  `the API version in the data (${sent}) does not match the expected API version (${wanted})`;

/**
 * Spec section 4.6: `Ignore` drops silently, `Warn` sends warnings, `Strict` rejects the request with what `refusal` makes of
 * the message.
 */
export function checkUnknown(
  request: Pick<VerbRequest, 'warn'>,
  { fieldValidation }: Pick<WriteOptions, 'fieldValidation'>,
  problems: readonly string[],
  refusal: (message: string) => StatusError = badRequest,
): void {
  switch (fieldValidation) {
    case 'Ignore':
      return;
    case 'Warn':
      for (const problem of problems) request.warn(problem);
      return;
    case 'Strict':
      if (problems.length > 0) throw refusal(`strict decoding error: ${problems.join(', ')}`);
  }
}
