import { limits } from '../../base/limits.ts';
import { inTurns, type Steps } from '../../base/time/in-slices.ts';
import { boundedCount, duplicate, errorsOfEach, type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { Infer } from '../../schema/schema.ts';
import { validateDriverName } from '../core/driver-name.ts';
import type { Validation } from '../validation.ts';
import type { betaSchemas } from './device-schemas.ts';

type ClaimSpec = NonNullable<Infer<typeof betaSchemas.resourceClaim>['spec']>;
type DeviceClaim = NonNullable<ClaimSpec['devices']>;
type Request = NonNullable<DeviceClaim['requests']>[number];
type Selector = NonNullable<Request['selectors']>[number];
type Configuration = Pick<NonNullable<DeviceClaim['config']>[number], 'opaque'>;

/** Errors of the items, of items that are there before, and of their number. A key names the item in its error. */
export function errorsOfSet<T>(
  items: readonly T[],
  path: string,
  check: (item: T, path: string) => readonly FieldError[],
  { max, key, field = '' }: { max?: number; key: (item: T) => string; field?: string },
): FieldError[] {
  const seen = new Set<string>();
  return [
    ...errorsOfEach(items, (item, index) => check(item, `${path}[${index}]`)),
    ...(max === undefined ? [] : boundedCount(path, items.length, max)),
    ...errorsOfEach(items, (item, index) => {
      const value = key(item);
      const repeated = seen.has(value);
      seen.add(value);
      return repeated ? [duplicate(`${path}[${index}]${field}`, value)] : [];
    }),
  ];
}

const each = (problems: readonly string[], path: string, value: string): FieldError[] => problems.map((problem) => invalid(path, value, problem));

export function validatePoolName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const parts = name.split('/').flatMap((part) => each(isDnsSubdomain(part), path, part));
  return [...(Buffer.byteLength(name) > limits.nameLengthMax ? [tooLong(path, limits.nameLengthMax)] : []), ...parts];
}

export const validateDeviceName = (name: string, path: string): FieldError[] => each(isDnsLabel(name), path, name);

/** The names of the requests of a claim. */
export const requestNames = ({ requests = [] }: DeviceClaim): ReadonlySet<string> => new Set(requests.map(({ name = '' }) => name));

export const validateRequestReference = (name: string, path: string, names: ReadonlySet<string>): FieldError[] => [
  ...each(isDnsLabel(name), path, name),
  ...(names.has(name) ? [] : [invalid(path, name, 'must be the name of a request in the claim')]),
];

export const validateReferences = (names: readonly string[], path: string, known: ReadonlySet<string>): FieldError[] =>
  errorsOfSet(names, path, (name, at) => validateRequestReference(name, at, known), { max: limits.deviceListMax, key: (name) => name });

/** Errors of a claim, but for those of its expressions. */
export function validateDeviceClaim(claim: DeviceClaim, path: string): FieldError[] {
  const { requests = [], constraints = [], config = [] } = claim;
  const names = requestNames(claim);
  return [
    ...errorsOfSet(requests, `${path}.requests`, validateRequest, { max: limits.deviceListMax, key: ({ name = '' }) => name, field: '.name' }),
    ...errorsOfEach(constraints, ({ requests: named = [], matchAttribute }, index) => {
      const at = `${path}.constraints[${index}]`;
      return [...validateReferences(named, `${at}.requests`, names), ...(matchAttribute === undefined ? [required(`${at}.matchAttribute`)] : validateFullName(matchAttribute, `${at}.matchAttribute`))];
    }),
    ...boundedCount(`${path}.constraints`, constraints.length, limits.deviceListMax),
    ...errorsOfEach(config, (each, index) => [...validateReferences(each.requests ?? [], `${path}.config[${index}].requests`, names), ...validateConfiguration(each, `${path}.config[${index}]`)]),
    ...boundedCount(`${path}.config`, config.length, limits.deviceListMax),
  ];
}

const modes = ['All', 'ExactCount'];

function validateRequest({ name = '', deviceClassName: className = '', selectors = [], allocationMode: mode = '', count = 0 }: Request, path: string): FieldError[] {
  const unknown: FieldError = { type: 'FieldValueNotSupported', field: `${path}.allocationMode`, value: mode, detail: `supported values: ${modes.map((known) => JSON.stringify(known)).join(', ')}` };
  return [
    ...each(isDnsLabel(name), `${path}.name`, name),
    ...(className === '' ? [required(`${path}.deviceClassName`)] : each(isDnsSubdomain(className), `${path}.deviceClassName`, className)),
    ...validateSelectors(selectors, `${path}.selectors`),
    ...(mode === 'All' && count !== 0 ? [invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'")] : []),
    ...(mode === 'ExactCount' && count <= 0 ? [invalid(`${path}.count`, count, 'must be greater than zero')] : []),
    ...(modes.includes(mode) ? [] : [unknown]),
  ];
}

/** Errors of selectors, but for those of their expressions. */
export const validateSelectors = (selectors: readonly Selector[], path: string): FieldError[] => [
  ...errorsOfEach(selectors, ({ cel }, index) => {
    if (!cel) return [required(`${path}[${index}].cel`)];
    const tooMuch = Buffer.byteLength(cel.expression ?? '') > limits.deviceSelectorBytesMax;
    return tooMuch ? [tooLong(`${path}[${index}].cel.expression`, limits.deviceSelectorBytesMax)] : [];
  }),
  ...boundedCount(path, selectors.length, limits.deviceListMax),
];

/** `stored`: parameters that were stored before there was a limit stay. */
export function validateConfiguration({ opaque }: Configuration, path: string, stored = false): FieldError[] {
  if (!opaque) return [required(`${path}.opaque`)];
  return [...validateDriverName(opaque.driver ?? '', `${path}.opaque.driver`), ...validateParameters(opaque.parameters, `${path}.opaque.parameters`, stored)];
}

export function validateParameters(value: unknown, path: string, stored = false): FieldError[] {
  if (value === undefined || value === null) return [required(path)];
  if (!isRecord(value)) return [invalid(path, '<value omitted>', 'parameters must be a valid JSON object')];
  const size = stored ? 0 : Buffer.byteLength(JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)));
  return size > limits.deviceParametersBytesMax ? [tooLong(path, limits.deviceParametersBytesMax)] : [];
}

/** The name of an attribute or a capacity: `model`, `example.com/model`. */
export function validateQualifiedName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path, 'name required')];
  const parts = name.split('/');
  if (parts.length > 2) return [];
  const [id = '', domain] = parts.toReversed();
  if (domain === undefined) return validateIdentifier(id, path);
  return [
    ...(domain === '' ? [required(path, 'the domain must not be empty')] : validateDriverName(domain, path)),
    ...(id === '' ? [required(path, 'the name must not be empty')] : validateIdentifier(id, path)),
  ];
}

const validateFullName = (name: string, path: string): FieldError[] => [
  ...validateQualifiedName(name, path),
  ...(name !== '' && !name.includes('/') ? [invalid(path, name, 'must include a domain')] : []),
];

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const noIdentifier =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' " +
  "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function validateIdentifier(id: string, path: string): FieldError[] {
  const max = limits.devicePropertyNameMax;
  const wrong: FieldError = { type: 'FieldValueTypeInvalid', field: path, value: id, detail: noIdentifier };
  return [...(Buffer.byteLength(id) > max ? [tooLong(path, max)] : []), ...(identifier.test(id) ? [] : [wrong])];
}

/** The expressions of selectors, and where they are. */
export const expressionsOf = (selectors: readonly Selector[], path: string): readonly (readonly [path: string, source: string])[] =>
  selectors.flatMap(({ cel }, index) => (cel && Buffer.byteLength(cel.expression ?? '') <= limits.deviceSelectorBytesMax ? [[`${path}[${index}].cel.expression`, cel.expression ?? '']] : []));

export const claimExpressions = ({ requests = [] }: DeviceClaim, path: string) => requests.flatMap(({ selectors = [] }, index) => expressionsOf(selectors, `${path}.requests[${index}].selectors`));

/** Errors of expressions that do not compile. The language is loaded for the first one; others have their turn between them. */
export const validateExpressions = (expressions: readonly (readonly [path: string, source: string])[]): Validation => (expressions.length === 0 ? [] : compileAll(expressions));

async function compileAll(expressions: readonly (readonly [path: string, source: string])[]): Promise<readonly FieldError[]> {
  const { selectorErrors } = await import('./device-selectors.ts');
  function* steps(): Steps<readonly FieldError[]> {
    const errors: FieldError[] = [];
    for (const [path, source] of expressions) {
      if (errors.length >= limits.findingsMax) break;
      errors.push(...(yield* selectorErrors(source, path)));
      yield;
    }
    return errors;
  }
  return inTurns(steps());
}
