import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { formatCheckOf } from '../meta/crd-formats.ts';
import { invalid, notSupportedOf, required, tooLong, tooMany } from '../meta/field-error.ts';
import { all, type Check, checkPart, type Finding, oldPart } from './check.ts';
import type { Constraint } from './constraint.ts';
import { getOwn, isRecord } from './own-property.ts';
import { patternSearch, spendOnAlternatives } from './pattern.ts';
import { type ListSchema, type Schema, schemaOf } from './schema.ts';
import { oldItems, ratcheted } from './validate-structural.ts';

/**
 * The check of a constraint; undefined if every value is valid. Its messages are those of Kubernetes 1.32 for custom
 * resources, which repeat the path of the field. `schema` is that of the value, and says which old values the parts of it
 * correspond to.
 */
export function compileConstraint(constraint: Constraint, schema?: Schema): Check | undefined {
  const enumCheck = compileEnum(constraint);
  // In the order of kube-apiserver.
  const check = all(
    compileJunctors(constraint, schema),
    ofType(isString, compileString(constraint)),
    ofType(isNumber, compileNumber(constraint)),
    ofType(Array.isArray, compileList(constraint, listIn(schema))),
    enumCheck,
    ofType(isRecord, compileObject(constraint, schema)),
  );
  if (!check) return undefined;
  return (value, errors, old) => {
    if (errors.length >= limits.findingsMax) return;
    // For null, where the schema allows it, only the enum is checked.
    if (value === null) enumCheck?.(value, errors);
    else check(value, errors, old);
  };
}

type RecordCheck = Check<Record<string, unknown>>;

/** The check of a part of a value that has parts of its own schema. */
function compilePart(constraint: Constraint, schema: Schema | undefined): Check | undefined {
  const check = compileConstraint(constraint, schema);
  return check && ratcheted(check);
}

/** What a schema says of arrays. */
function listIn(schema: Schema | undefined): ListSchema | undefined {
  if (schema?.type === 'any') return schema.list;
  return schema?.type === 'list' ? schema : undefined;
}

/** What a schema says of a field, or of undeclared ones. */
function fieldIn(schema: Schema | undefined, name: string | undefined): Schema | undefined {
  if (schema?.type === 'any') return fieldIn(schema.object, name);
  if (schema?.type === 'map') return schema.values;
  if (schema?.type !== 'struct') return undefined;
  const field = name !== undefined && Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  if (field) return schemaOf(field);
  return typeof schema.additional === 'object' ? schema.additional : undefined;
}

const ofType = <T>(is: (value: unknown) => value is T, check: Check<T> | undefined): Check | undefined =>
  check && ((value, errors, old) => is(value) && check(value, errors, old));

const isString = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

const inBody = (value: unknown, text: string): Finding => ({
  ...invalid('', value, text),
  asGo: true,
  describe: (path) => `${path} in body ${text}`,
});

/** A check of one limit. The message is `<path> in body <text>`. */
const limit = <T>(isGood: (value: T) => boolean, text: string, shown: (value: T) => unknown): Check<T> => {
  return (value, errors) => {
    if (!isGood(value)) errors.push(inBody(shown(value), text));
  };
};

const itself = <T>(value: T): T => value;

function compileEnum({ enum: supported }: Constraint): Check | undefined {
  if (!supported) return undefined;
  const texts = new Set(supported.map(canonicalText));
  const shown = supported.map((value) => (typeof value === 'string' ? value : jsonText(value)));
  return (value, errors) => {
    if (!texts.has(canonicalText(value))) errors.push({ ...notSupportedOf('', value, shown), asGo: true });
  };
}

/** JSON text with sorted fields, for comparison. */
const canonicalText = (value: unknown): string => jsonText(sorted(value));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([name, part]) => [name, sorted(part)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function compileString({ minLength, maxLength, pattern, format }: Constraint): Check<string> | undefined {
  const known = formatCheckOf(format);
  return all(
    firstOf(
      maxLength === undefined
        ? undefined
        : (value, errors) => {
            if (codePoints(value) > maxLength) errors.push(tooLong('', maxLength));
          },
      minLength === undefined
        ? undefined
        : limit((value) => codePoints(value) >= minLength, `should be at least ${minLength} chars long`, itself),
      pattern === undefined ? undefined : compilePattern(pattern),
    ),
    known &&
      ((value, errors) => {
        if (known(value)) return;
        const text = `must be of type ${format}: ${JSON.stringify(value)}`;
        errors.push({ ...inBody(value, text), type: 'FieldValueTypeInvalid' });
      }),
  );
}

/** As in kube-apiserver, one of length and pattern is reported. */
function firstOf(...parts: readonly (Check<string> | undefined)[]): Check<string> | undefined {
  const checks = parts.filter((part) => part !== undefined);
  if (checks.length < 2) return checks[0];
  return (value, errors) => {
    const found = errors.length;
    for (const check of checks) {
      check(value, errors);
      if (errors.length > found) return;
    }
  };
}

function compilePattern(pattern: string): Check<string> {
  const search = patternSearch(pattern);
  return (value, errors) => {
    const match = search(value);
    if (match === 'missing') errors.push(inBody(value, `should match '${pattern}'`));
    // Not the value, which may be long.
    else if (match === 'tooLong') errors.push(inBody('', `is too long to be matched with '${pattern}'`));
  };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function compileNumber(constraint: Constraint): Check<number | bigint> | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = constraint;
  return all(
    multipleOf === undefined
      ? undefined
      : limit((value) => isMultiple(value, multipleOf), `should be a multiple of ${multipleOf}`, itself),
    maximum === undefined
      ? undefined
      : exclusiveMaximum
        ? limit((value) => value < maximum, `should be less than ${maximum}`, itself)
        : limit((value) => value <= maximum, `should be less than or equal to ${maximum}`, itself),
    minimum === undefined
      ? undefined
      : exclusiveMinimum
        ? limit((value) => value > minimum, `should be greater than ${minimum}`, itself)
        : limit((value) => value >= minimum, `should be greater than or equal to ${minimum}`, itself),
  );
}

/** As in Kubernetes, for decimal fractions: the quotient may be above an integer by a billionth. */
function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint' && Number.isInteger(factor) && factor !== 0) return value % BigInt(factor) === 0n;
  if (Number.isSafeInteger(value) && Number.isInteger(factor) && factor !== 0) return Number(value) % factor === 0;
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  if (typeof value === 'number' && Math.abs(quotient) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(quotient);
  return quotient === whole || Math.abs(quotient - whole) < 1e-9 * Math.abs(quotient + whole);
}

function compileList(
  { items, minItems, maxItems, uniqueItems }: Constraint,
  list: ListSchema | undefined,
): Check<readonly unknown[]> | undefined {
  const checkItem = items && compilePart(items, list?.items);
  return all<readonly unknown[]>(
    checkItem &&
      ((value, errors, old) => {
        const oldOf = list && old !== undefined ? oldItems(list, old) : undefined;
        for (const [index, item] of value.entries()) {
          if (errors.length >= limits.findingsMax) return;
          checkPart(checkItem, item, errors, `[${index}]`, oldOf?.(item));
        }
      }),
    minItems === undefined
      ? undefined
      : limit(({ length }) => length >= minItems, `should have at least ${minItems} items`, sizeOf),
    maxItems === undefined
      ? undefined
      : ({ length }, errors) => {
          if (length > maxItems) errors.push(tooMany('', length, maxItems));
        },
    uniqueItems
      ? limit(
          (value) => new Set(value.map(canonicalText)).size === value.length,
          "shouldn't contain duplicates",
          () => '',
        )
      : undefined,
  );
}

const sizeOf = ({ length }: readonly unknown[]): number => length;

function compileObject(constraint: Constraint, schema: Schema | undefined): RecordCheck | undefined {
  const { minProperties, maxProperties } = constraint;
  const parts = all(
    compileProperties(constraint, schema),
    compileAdditional(constraint, schema),
    compileRequired(constraint),
  );
  if (minProperties === undefined && maxProperties === undefined) return parts;
  const tooFew = `should have at least ${minProperties} properties`;
  return (value, errors, old) => {
    const count = Object.keys(value).length;
    if (minProperties !== undefined && count < minProperties) errors.push(inBody(count, tooFew));
    if (maxProperties !== undefined && count > maxProperties) errors.push(tooMany('', count, maxProperties));
    parts?.(value, errors, old);
  };
}

function compileProperties({ properties = {} }: Constraint, schema: Schema | undefined): RecordCheck | undefined {
  const checks = Object.entries(properties).flatMap(([name, constraint]): [string, Check][] => {
    const check = compilePart(constraint, fieldIn(schema, name));
    return check ? [[name, check]] : [];
  });
  if (checks.length === 0) return undefined;
  return (value, errors, old) => {
    for (const [name, check] of checks) {
      const part = getOwn(value, name);
      if (part !== undefined) checkPart(check, part, errors, name, oldPart(old, name));
    }
  };
}

function compileAdditional(constraint: Constraint, schema: Schema | undefined): RecordCheck | undefined {
  const { properties = {}, additionalProperties } = constraint;
  if (additionalProperties === false) return forbidOthers(properties);
  const check = additionalProperties && compilePart(additionalProperties, fieldIn(schema, undefined));
  if (!check) return undefined;
  return (value, errors, old) => {
    for (const name of Object.keys(value)) {
      if (errors.length >= limits.findingsMax) return;
      if (!Object.hasOwn(properties, name)) checkPart(check, value[name], errors, name, oldPart(old, name));
    }
  };
}

const forbidOthers = (properties: Readonly<Record<string, Constraint>>): RecordCheck => {
  return (value, errors) => {
    for (const name of Object.keys(value)) {
      if (errors.length >= limits.findingsMax) return;
      if (Object.hasOwn(properties, name)) continue;
      errors.push({
        ...invalid('', name, ''),
        describe: (path) => `${path}.${name} in body is a forbidden property`,
      });
    }
  };
};

function compileRequired({ required: names = [] }: Constraint): RecordCheck | undefined {
  if (names.length === 0) return undefined;
  return (value, errors) => {
    for (const name of names) if (getOwn(value, name) === undefined) errors.push(required(name));
  };
}

/**
 * anyOf, oneOf, allOf and not. If anyOf or oneOf fails, its error is followed by the errors of the closest alternative,
 * the one with the fewest.
 */
function compileJunctors(constraint: Constraint, schema: Schema | undefined): Check | undefined {
  const { allOf = [], anyOf = [], oneOf = [], not } = constraint;
  return all(
    anyOf.length > 0 ? compileAlternatives(anyOf, anyOfProblem, schema) : undefined,
    oneOf.length > 0 ? compileAlternatives(oneOf, oneOfProblem, schema) : undefined,
    allOf.length > 0 ? compileAllOf(allOf, schema) : undefined,
    not && compileNot(not, schema),
  );
}

/** The problem, if any, given the number of valid alternatives. */
type Problem = (valid: number) => string | undefined;

const anyOfProblem: Problem = (valid) => (valid > 0 ? undefined : 'must validate at least one schema (anyOf)');

function oneOfProblem(valid: number): string | undefined {
  if (valid === 1) return undefined;
  const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
  return `must validate one and only one schema (oneOf). ${found}`;
}

/** As in kube-apiserver, these messages quote the path and show no value, and the error has no field of its own. */
const junctorError = (text: string): Finding => ({
  ...invalid('', '', text),
  of: 'whole',
  describe: (path) => `"${path}" ${text}`,
});

function errorsOf(check: Check | undefined, value: unknown, old: unknown): readonly Finding[] {
  const errors: Finding[] = [];
  check?.(value, errors, old);
  return errors;
}

function compileAlternatives(
  alternatives: readonly Constraint[],
  problemOf: Problem,
  schema: Schema | undefined,
): Check {
  const checks = alternatives.map((each) => compileConstraint(each, schema));
  return (value, errors, old) => {
    spendOnAlternatives(checks.length);
    const results = checks.map((check) => errorsOf(check, value, old));
    const valid = results.filter(({ length }) => length === 0).length;
    const problem = problemOf(valid);
    if (problem === undefined) return;
    errors.push(junctorError(problem));
    const [nearest = []] = results.toSorted((a, b) => a.length - b.length);
    errors.push(...nearest);
  };
}

function compileAllOf(constraints: readonly Constraint[], schema: Schema | undefined): Check {
  const checks = constraints.map((each) => compileConstraint(each, schema));
  return (value, errors, old) => {
    spendOnAlternatives(checks.length);
    const results = checks.map((check) => errorsOf(check, value, old));
    const failed = results.filter(({ length }) => length > 0);
    if (failed.length === 0) return;
    const none = failed.length === checks.length ? '. None validated' : '';
    errors.push(...failed.flat(), junctorError(`must validate all the schemas (allOf)${none}`));
  };
}

function compileNot(constraint: Constraint, schema: Schema | undefined): Check {
  const check = compileConstraint(constraint, schema);
  return (value, errors, old) => {
    if (errorsOf(check, value, old).length === 0) {
      errors.push(junctorError('must not validate the schema (not)'));
    }
  };
}
