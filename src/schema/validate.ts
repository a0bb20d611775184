import { limits } from '../base/limits.ts';
import { type FieldError, invalid, notSupported, required, tooLong, tooMany } from '../meta/field-error.ts';
import { all, asErrors, type Check, checkPart, type Finding, prefix } from './check.ts';
import { formatChecks, isDns1035Label } from './formats.ts';
import { nestedSchemas } from './nested-schemas.ts';
import { getOwn, isRecord } from './own-property.ts';
import {
  type Field,
  type IntegerSchema,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StringSchema,
  type StructSchema,
  schemaOf,
} from './schema.ts';
import { compileConstraint } from './validate-constraint.ts';
import { compileStructMarkers, compileUnique, hasStructMarkers, uniqueOf } from './validate-markers.ts';

export { validateUpdate } from './validate-update.ts';

/**
 * Validates a decoded value against its schema: required fields, enums, formats, lengths, ranges, item counts, uniqueness,
 * unions, label selectors, constraints. `decode` has checked the types. Error paths start with `path`; map keys are in
 * brackets unless the schema says `dotted`. Stops at about `limits.findingsMax` errors.
 */
export function validate(schema: Schema, value: unknown, path = ''): FieldError[] {
  const findings: Finding[] = [];
  checkOf(schema)?.(value, findings);
  if (findings.length === 0) return [];
  if (path !== '') prefix(findings, 0, path);
  return asErrors(findings);
}

const checks = new WeakMap<Schema, { readonly check: Check | undefined }>();

/** Undefined if any value of the right type is valid. */
function checkOf(schema: Schema): Check | undefined {
  let compiled = checks.get(schema);
  if (!compiled) {
    compiled = { check: compileWhole(schema) };
    checks.set(schema, compiled);
  }
  return compiled.check;
}

function compileWhole(schema: Schema): Check | undefined {
  const constraint = schema.constraint && compileConstraint(schema.constraint);
  const own = compile(schema);
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
    default:
      return undefined;
  }
}

function compileString({ enum: supported, format, lengthMax, lengthMin }: StringSchema): Check | undefined {
  const formatCheck = format && formatChecks[format];
  return all(
    supported &&
      ((value, errors) => {
        if (!supported.includes(String(value))) errors.push(notSupported('', value, supported));
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

function compileInteger({ minimum, maximum }: IntegerSchema): Check | undefined {
  if (minimum === undefined && maximum === undefined) return undefined;
  const [min, max] = [minimum ?? Number.NEGATIVE_INFINITY, maximum ?? Number.POSITIVE_INFINITY];
  const problem = describeRange(minimum, maximum);
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

function compileMap({ keyFormat, keyPaths, values }: MapSchema): Check | undefined {
  const keyCheck = keyFormat && formatChecks[keyFormat];
  const valueCheck = checkOf(values);
  if (!keyCheck && !valueCheck) return undefined;
  return (value, errors) => {
    if (!isRecord(value)) return;
    for (const key of Object.keys(value)) {
      if (errors.length >= limits.findingsMax) return;
      for (const problem of keyCheck?.(key) ?? []) errors.push(invalid('', key, problem));
      if (valueCheck) checkPart(valueCheck, value[key], errors, keyPaths === 'dotted' ? key : `[${key}]`);
    }
  };
}

function compileList(list: ListSchema): Check | undefined {
  const unique = uniqueOf(list);
  const check = all<readonly unknown[]>(compileCount(list), unique && compileUnique(unique), compileItems(list.items));
  return check && ((value, errors) => Array.isArray(value) && check(value, errors));
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

function compileItems(items: Schema): Check | undefined {
  const check = checkOf(items);
  return (
    check &&
    ((value, errors) => {
      for (const [index, item] of (value as readonly unknown[]).entries()) {
        if (errors.length >= limits.findingsMax) return;
        checkPart(check, item, errors, `[${index}]`);
      }
    })
  );
}

interface FieldCheck {
  readonly name: string;
  readonly required: boolean;
  /** For `always` fields that are not required: the zero value counts as absent. */
  readonly emptyAllowed: boolean;
  readonly nullable: boolean;
  readonly check: Check | undefined;
}

function compileStruct(struct: StructSchema): Check | undefined {
  if (!nestedSchemas(struct).some(isConstrained)) return undefined;
  // Compiled on first use, because structs may be recursive.
  let fields: readonly FieldCheck[] | undefined;
  const rest = all(compileOthers(struct), compileStructMarkers(struct), struct.embedded ? checkEmbedded : undefined);
  return (value, errors) => {
    if (!isRecord(value)) return;
    fields ??= Object.entries(struct.fields)
      .map(compileField)
      .filter((field) => field.required || field.check);
    for (const field of fields) checkField(field, getOwn(value, field.name), errors);
    rest?.(value, errors);
  };
}

/** True if the schema itself, regardless of nested ones, can reject a value of the right type. */
function isConstrained(schema: Schema): boolean {
  if (schema.constraint) return true;
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

const compileField = ([name, field]: [string, Field]): FieldCheck => ({
  name,
  required: field.required,
  emptyAllowed: field.presence === 'always' && !field.required,
  nullable: schemaOf(field).nullable ?? false,
  check: checkOf(schemaOf(field)),
});

function checkField(
  { name, required: isRequired, emptyAllowed, nullable, check }: FieldCheck,
  value: unknown,
  errors: Finding[],
): void {
  if (value === undefined || (value === null && !nullable) || (isRequired && value === '')) {
    if (isRequired) errors.push(required(name));
    return;
  }
  if (emptyAllowed && (value === '' || value === 0)) return;
  if (check) checkPart(check, value, errors, name);
}

/** Checks the values of fields that the struct does not declare. */
function compileOthers({ fields, additional }: StructSchema): Check<Record<string, unknown>> | undefined {
  const check = typeof additional === 'object' ? checkOf(additional) : undefined;
  if (!check) return undefined;
  return (value, findings) => {
    for (const key of Object.keys(value)) {
      if (findings.length >= limits.findingsMax) return;
      if (!Object.hasOwn(fields, key)) checkPart(check, value[key], findings, key);
    }
  };
}

/** Checks `apiVersion` and `kind` of an embedded object. Its schema checks its metadata. */
function checkEmbedded(value: Record<string, unknown>, findings: Finding[]): void {
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
}
