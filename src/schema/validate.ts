import { limits } from '../base/limits.ts';
import {
  type FieldError,
  invalid,
  notSupported,
  notSupportedOf,
  required,
  tooLong,
  tooMany,
} from '../meta/field-error.ts';
import { formatChecks, isDns1035Label } from '../meta/formats.ts';
import { all, asErrors, type Check, checkKey, checkPart, type Finding, oldPart, prefix } from './check.ts';
import { checkOrder } from './field-lists.ts';
import { joinPath } from './field-path.ts';
import { LazyFields } from './lazy-fields.ts';
import { nestedSchemas } from './nested-schemas.ts';
import { getOwn, isRecord } from './own-property.ts';
import { beginChecks } from './pattern.ts';
import {
  type AnySchema,
  type Field,
  type IntegerSchema,
  isScalar,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StringSchema,
  type StructSchema,
  schemaOf,
} from './schema.ts';
import { compileConstraint } from './validate-constraint.ts';
import { compileStructMarkers, compileUnique, hasStructMarkers, uniqueOf } from './validate-markers.ts';
import { compileDuplicates, compileType, oldItems, ratcheted } from './validate-structural.ts';

export { validateUpdate } from './validate-update.ts';

interface ValidateOptions {
  /** The field of errors that are of the whole value: `path`, or what kube-apiserver shows where there is none. */
  readonly whole?: string;
  /**
   * The value that an update replaces, decoded by the same schema. Errors of a structural schema are left out if the value
   * that has them, or one around it, is unchanged, as in kube-apiserver (CRDValidationRatcheting). Values correspond by
   * field, by key of a map, and by the keys of items of `map` lists. Duplicates are left out if the old value has any;
   * errors of the type and metadata of embedded objects never are.
   */
  readonly old?: unknown;
  /** Others wait: throws LongWork instead of doing what would hold the event loop too long. */
  readonly inline?: boolean | undefined;
}

/**
 * Validates a decoded value against its schema: required fields, enums, formats, lengths, ranges, item counts, uniqueness,
 * unions, label selectors, constraints, and types of structural schemas; `decode` has checked the other types. Error paths
 * start with `path`; map keys are in brackets unless the schema is structural. Stops at about `limits.findingsMax` errors.
 */
export function validate(schema: Schema, value: unknown, path = '', options: ValidateOptions = {}): FieldError[] {
  const check = checkOf(schema);
  const old = schema.structural ? options.old : undefined;
  let findings: Finding[] = [];
  beginChecks(options.inline === true);
  check?.(value, findings, old);
  if (findings.length === 0) return [];
  if (old !== undefined) findings = withoutOldDuplicates(findings, check, old);
  if (path !== '') prefix(findings, 0, path);
  return asErrors(inOrder(findings), options.whole ?? (path === '' ? nowhere : path));
}

/** The path of the whole object, as kube-apiserver shows it. */
const nowhere = '<nil>';

/** kube-apiserver looks for duplicates when everything else of the object has been checked. */
const inOrder = (findings: readonly Finding[]): readonly Finding[] =>
  findings.some(isDuplicate)
    ? [...findings.filter((each) => !isDuplicate(each)), ...findings.filter(isDuplicate)]
    : findings;

/** Duplicates are left out if the old value has any. */
function withoutOldDuplicates(findings: Finding[], check: Check | undefined, old: unknown): Finding[] {
  if (!findings.some(isDuplicate)) return findings;
  const before: Finding[] = [];
  check?.(old, before);
  return before.some(isDuplicate) ? findings.filter((finding) => !isDuplicate(finding)) : findings;
}

interface FieldsOptions extends ValidateOptions {
  readonly names: readonly string[];
}

/**
 * Errors of an object of a structural schema whose fields `names` are updated by a subresource such as `status`. As in
 * kube-apiserver, no other field is looked at, and errors count even if the update does not change the value that has them;
 * messages name paths within the field. Identities of embedded objects are not checked, and duplicates are left out if the old
 * object has any.
 */
export function validateFields(
  schema: StructSchema,
  object: Readonly<Record<string, unknown>>,
  { names, old, inline = false }: FieldsOptions,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  beginChecks(inline);
  for (const name of names) {
    const value = getOwn(object, name);
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (value === undefined || field === undefined) continue;
    const findings: Finding[] = [];
    checkOf(schemaOf(field))?.(value, findings);
    const counted = withoutOldDuplicates(findings, checkOf(schema), old).filter(({ ratchet }) => ratchet !== 'never');
    errors.push(...asErrors(inOrder(counted), '').map((error) => ({ ...error, field: joinPath(name, error.field) })));
  }
  return errors;
}

const isDuplicate = ({ ratchet }: Finding): boolean => ratchet === 'duplicates';

const checks = new WeakMap<Schema, { readonly check: Check | undefined }>();

/** Undefined if any value of the right type is valid. */
function checkOf(schema: Schema): Check | undefined {
  if (schema.structural && isScalar(schema) && !schema.constraint) return typeCheckOf(schema);
  let compiled = checks.get(schema);
  if (!compiled) {
    compiled = { check: compileWhole(schema) };
    checks.set(schema, compiled);
  }
  return compiled.check;
}

/** Large schemas have thousands of scalars of which only the type is checked. */
const typeChecks = new Map<string, Check>();

function typeCheckOf(schema: Schema): Check | undefined {
  const key = `${schema.type} ${schema.nullable}`;
  let check = typeChecks.get(key);
  if (!check) {
    check = compileWhole(schema);
    if (check) typeChecks.set(key, check);
  }
  return check;
}

function compileWhole(schema: Schema): Check | undefined {
  const restriction = schema.constraint && compileConstraint(schema.constraint, schema);
  const constraint = restriction && ratcheted(restriction);
  const own = compile(schema);
  if (schema.structural) {
    const check = all(compileType(schema), own, constraint);
    return check && ratcheted(check);
  }
  if (!schema.nullable || !own) return all(own, constraint);
  return all<unknown>((value, findings) => {
    if (value !== null) own(value, findings);
  }, constraint);
}

function compile(schema: Schema): Check | undefined {
  switch (schema.type) {
    case 'string':
      return compileString(schema);
    case 'integer':
      return compileInteger(schema);
    case 'map':
      return compileMap(schema);
    case 'list':
      return compileList(schema);
    case 'struct':
      return compileStruct(schema);
    case 'any':
      return compileAny(schema);
    default:
      return undefined;
  }
}

function compileAny({ object, list }: AnySchema): Check | undefined {
  const objectCheck = object && checkOf(object);
  const listCheck = list && checkOf(list);
  if (!objectCheck && !listCheck) return undefined;
  return (value, findings, old) => {
    if (Array.isArray(value)) listCheck?.(value, findings, old);
    else if (isRecord(value)) objectCheck?.(value, findings, old);
  };
}

function compileString({ enum: supported, enumOrder, format, lengthMax, lengthMin }: StringSchema): Check | undefined {
  const formatCheck = format && formatChecks[format];
  return all(
    supported &&
      ((value, errors) => {
        if (!supported.includes(String(value)))
          errors.push((enumOrder === 'given' ? notSupportedOf : notSupported)('', value, supported));
      }),
    formatCheck &&
      ((value, errors) => {
        for (const problem of formatCheck(String(value))) errors.push(invalid('', value, problem));
      }),
    lengthMax === undefined
      ? undefined
      : (value, errors) => {
          if (Buffer.byteLength(String(value)) > lengthMax) errors.push(tooLong('', lengthMax));
        },
    lengthMin === undefined
      ? undefined
      : (value, errors) => {
          if ([...String(value)].length < lengthMin)
            errors.push(invalid('', value, `must be at least ${lengthMin} characters`));
        },
  );
}

function compileInteger({ minimum, maximum, rangeText }: IntegerSchema): Check | undefined {
  if (minimum === undefined && maximum === undefined) return undefined;
  const [min, max] = [minimum ?? Number.NEGATIVE_INFINITY, maximum ?? Number.POSITIVE_INFINITY];
  const problem = rangeText ?? describeRange(minimum, maximum);
  return (value, errors) => {
    // The value may be a bigint; comparison with numbers works for both.
    if ((value as number) < min || (value as number) > max) errors.push(invalid('', value, problem));
  };
}

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (maximum === undefined) return `must be greater than or equal to ${minimum}`;
  if (minimum === undefined) return `must be less than or equal to ${maximum}`;
  return `must be between ${minimum} and ${maximum}, inclusive`;
}

function compileMap({ keyFormat, values, structural }: MapSchema): Check | undefined {
  const keyCheck = keyFormat && formatChecks[keyFormat];
  const valueCheck = checkOf(values);
  if (!keyCheck && !valueCheck) return undefined;
  return (value, errors, old) => {
    if (!isRecord(value)) return;
    for (const key of Object.keys(value)) {
      if (errors.length >= limits.findingsMax) return;
      for (const problem of keyCheck?.(key) ?? []) errors.push(invalid('', key, problem));
      if (!valueCheck) continue;
      if (structural) checkKey(valueCheck, value[key], errors, key, oldPart(old, key));
      else checkPart(valueCheck, value[key], errors, `[${key}]`);
    }
  };
}

function compileList(list: ListSchema): Check | undefined {
  const check = all<readonly unknown[]>(
    compileCount(list),
    list.structural ? compileDuplicates(list) : undefined,
    compileItems(list),
  );
  return check && ((value, errors, old) => Array.isArray(value) && check(value, errors, old));
}

function compileCount({ itemsMin = 0, itemsMax }: ListSchema): Check | undefined {
  if (itemsMin === 0 && itemsMax === undefined) return undefined;
  return (value, errors) => {
    const { length } = value as readonly unknown[];
    if (length < itemsMin)
      errors.push(length === 0 ? required('') : invalid('', length, `must have at least ${itemsMin} items`));
    if (itemsMax !== undefined && length > itemsMax) errors.push(tooMany('', length, itemsMax));
  };
}

/** An item that is there already is told after all else that is wrong with it, as in kube-apiserver. */
function compileItems(list: ListSchema): Check<readonly unknown[]> | undefined {
  const check = checkOf(list.items);
  const marked = list.structural ? undefined : uniqueOf(list);
  const unique = marked && compileUnique(marked);
  if (!check && !unique) return undefined;
  return (value, errors, old) => {
    const oldOf = old === undefined || !check ? undefined : oldItems(list, old);
    const checkUnique = unique?.();
    for (const [index, item] of value.entries()) {
      if (errors.length >= limits.findingsMax) return;
      if (check) checkPart(check, item, errors, `[${index}]`, oldOf?.(item));
      checkUnique?.(item, index, errors);
    }
  };
}

interface FieldCheck {
  readonly name: string;
  readonly required: boolean;
  /** The zero value counts as absent. */
  readonly emptyAllowed: boolean;
  readonly nullable: boolean;
  readonly check: Check | undefined;
  readonly checkedWhile: Field['checkedWhile'];
}

function compileStruct(struct: StructSchema): Check | undefined {
  if (!struct.structural && !nestedSchemas(struct).some(isConstrained)) return undefined;
  if (struct.structural) return compileStructuralStruct(struct);
  // Compiled on first use, because structs may be recursive.
  let fields: readonly FieldCheck[] | undefined;
  const rest = all(compileOthers(struct), compileStructMarkers(struct), struct.embedded ? checkEmbedded : undefined);
  return (value, errors, old) => {
    if (!isRecord(value)) return;
    fields ??= checkOrder(struct)
      .map((name) => compileField(name, struct.fields[name] as Field))
      .filter((field) => field.required || field.check);
    let invalidFields: readonly string[] = [];
    const refused = furtherMembers(struct, value);
    for (const field of fields) {
      if (refused?.includes(field.name)) continue;
      const part = getOwn(value, field.name);
      if (field.checkedWhile && !isChecked(field.checkedWhile, value, invalidFields)) continue;
      const before = errors.length;
      checkField(field, part, errors, old === undefined ? old : oldPart(old, field.name));
      if (errors.length > before && part !== undefined) invalidFields = [...invalidFields, field.name];
    }
    rest?.(value, errors, old);
  };
}

/** The members of a union after the first that is set, which are errors by themselves. */
function furtherMembers(
  { union }: StructSchema,
  value: Readonly<Record<string, unknown>>,
): readonly string[] | undefined {
  if (!union) return undefined;
  const set = union.fields.filter((name) => (getOwn(value, name) ?? null) !== null);
  return set.slice(1);
}

/** No field is required by itself, so only those that are there are looked at. */
function compileStructuralStruct(struct: StructSchema): Check | undefined {
  const rest = all(compileOthers(struct), struct.embedded ? checkEmbedded : undefined);
  const fieldChecks = new LazyFields(struct.fields, (field) => checkOf(schemaOf(field)));
  return (value, findings, old) => {
    if (!isRecord(value)) return;
    for (const name in value) {
      const check = fieldChecks.get(name);
      if (!check) continue;
      if (findings.length >= limits.findingsMax) return;
      checkPart(check, value[name], findings, name, old === undefined ? old : oldPart(old, name));
    }
    rest?.(value, findings, old);
  };
}

/** True if the schema itself, regardless of nested ones, can reject a value of the right type. */
function isConstrained(schema: Schema): boolean {
  if (schema.constraint || (schema.structural && schema.type !== 'any')) return true;
  switch (schema.type) {
    case 'struct':
      return (
        hasStructMarkers(schema) ||
        schema.embedded === true ||
        Object.values(schema.fields).some((field) => field.required)
      );
    case 'map':
      return schema.keyFormat !== undefined;
    case 'list':
      return compileCount(schema) !== undefined || uniqueOf(schema) !== undefined;
    default:
      return checkOf(schema) !== undefined;
  }
}

const isChecked = (
  condition: NonNullable<Field['checkedWhile']>,
  value: Readonly<Record<string, unknown>>,
  invalidFields: readonly string[],
): boolean =>
  'valid' in condition ? !invalidFields.includes(condition.valid) : getOwn(value, condition.field) === condition.is;

const compileField = (name: string, field: Field): FieldCheck => ({
  name,
  required: field.required,
  emptyAllowed: field.presence === 'always' && !field.required && !field.checkedEmpty,
  nullable: schemaOf(field).nullable ?? false,
  check: field.unchecked ? undefined : checkOf(schemaOf(field)),
  checkedWhile: field.checkedWhile,
});

function checkField(
  { name, required: isRequired, emptyAllowed, nullable, check }: FieldCheck,
  value: unknown,
  errors: Finding[],
  old: unknown,
): void {
  if (value === undefined || (value === null && !nullable) || (isRequired && value === '')) {
    if (isRequired) errors.push(required(name));
    return;
  }
  if (emptyAllowed && (value === '' || value === 0)) return;
  if (check) checkPart(check, value, errors, name, old);
}

/** Checks the values of fields that the struct does not declare. */
function compileOthers({ fields, additional }: StructSchema): Check<Record<string, unknown>> | undefined {
  const check = typeof additional === 'object' ? checkOf(additional) : undefined;
  if (!check) return undefined;
  return (value, findings, old) => {
    for (const key of Object.keys(value)) {
      if (findings.length >= limits.findingsMax) return;
      if (!Object.hasOwn(fields, key)) checkKey(check, value[key], findings, key, oldPart(old, key));
    }
  };
}

/** Checks `apiVersion` and `kind` of an embedded object. Its schema checks its metadata. */
function checkEmbedded(value: Record<string, unknown>, found: Finding[]): void {
  const findings: FieldError[] = [];
  const { apiVersion, kind } = value;
  if (apiVersion === undefined) findings.push(required('apiVersion', 'must not be empty'));
  else if (apiVersion === '') findings.push(invalid('apiVersion', apiVersion, 'must not be empty'));
  else if (String(apiVersion).split('/').length > 2) {
    findings.push(invalid('apiVersion', apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  }
  if (kind === undefined) findings.push(required('kind', 'must not be empty'));
  else if (kind === '') findings.push(invalid('kind', kind, 'must not be empty'));
  else {
    for (const problem of isDns1035Label(String(kind).toLowerCase())) {
      findings.push(invalid('kind', kind, `may have mixed case, but should otherwise match: ${problem}`));
    }
  }
  for (const each of findings) found.push({ ...each, ratchet: 'never', keys: 'bracketed' });
}
