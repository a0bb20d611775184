import { createRequire } from 'node:module';
import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { invalid, notSupported, required, tooLong, tooMany } from '../meta/field-error.ts';
import { all, type Check, checkPart, type Finding } from './check.ts';
import type { Constraint } from './constraint.ts';
import { crdFormats } from './crd-formats.ts';
import { getOwn, isRecord } from './own-property.ts';

/**
 * The check of a constraint; undefined if every value is valid. Its messages are those of Kubernetes 1.32 for custom
 * resources, which repeat the path of the field.
 */
export function compileConstraint(constraint: Constraint): Check | undefined {
  const general = all(compileEnum(constraint));
  const others = all(
    compileJunctors(constraint),
    ofType(isString, compileString(constraint)),
    ofType(isNumber, compileNumber(constraint)),
    ofType(Array.isArray, compileList(constraint)),
    ofType(isRecord, compileObject(constraint)),
  );
  if (!general && !others) return undefined;
  return (value, errors) => {
    if (errors.length >= limits.findingsMax) return;
    general?.(value, errors);
    // For null, where the schema allows it, only the enum is checked.
    if (value !== null) others?.(value, errors);
  };
}

const ofType = <T>(is: (value: unknown) => value is T, check: Check<T> | undefined): Check | undefined =>
  check && ((value, errors) => is(value) && check(value, errors));

const isString = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

const inBody = (value: unknown, text: string): Finding => ({
  ...invalid('', value, text),
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
  const shown = supported.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return (value, errors) => {
    if (!texts.has(canonicalText(value))) errors.push(notSupported('', value, shown));
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
  // Dashes in format names are ignored, as in Kubernetes: `date-time` is `datetime`.
  const known = format === undefined ? undefined : crdFormats.get(format.replaceAll('-', ''));
  return all(
    maxLength === undefined
      ? undefined
      : (value, errors) => {
          if (codePoints(value) > maxLength) errors.push(tooLong('', maxLength));
        },
    minLength === undefined
      ? undefined
      : limit((value) => codePoints(value) >= minLength, `should be at least ${minLength} chars long`, itself),
    pattern === undefined ? undefined : limit(compilePattern(pattern), `should match '${pattern}'`, itself),
    known &&
      ((value, errors) => {
        if (known(value)) return;
        const text = `must be of type ${format}: ${JSON.stringify(value)}`;
        errors.push({ ...inBody(value, text), type: 'FieldValueTypeInvalid' });
      }),
  );
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** RE2 matches in linear time. The engine is loaded on the first match. */
function compilePattern(pattern: string): (value: string) => boolean {
  let compiled: { matcher(value: string): { find(): boolean } } | undefined;
  return (value) => {
    compiled ??= loadEngine().compile(pattern);
    return compiled.matcher(value).find();
  };
}

const loadEngine = (): typeof import('re2js').RE2JS =>
  (createRequire(import.meta.url)('re2js') as typeof import('re2js')).RE2JS;

function compileNumber(constraint: Constraint): Check<number | bigint> | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = constraint;
  return all(
    multipleOf === undefined
      ? undefined
      : limit((value) => isMultiple(Number(value), multipleOf), `should be a multiple of ${multipleOf}`, itself),
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

/** As in Kubernetes: the floating-point quotient is an integer. */
const isMultiple = (value: number, factor: number): boolean => Number.isInteger(value / factor);

function compileList({ items, minItems, maxItems, uniqueItems }: Constraint): Check<readonly unknown[]> | undefined {
  const checkItem = items && compileConstraint(items);
  return all<readonly unknown[]>(
    checkItem &&
      ((value, errors) => {
        for (const [index, item] of value.entries()) {
          if (errors.length >= limits.findingsMax) return;
          checkPart(checkItem, item, errors, `[${index}]`);
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

function compileObject(constraint: Constraint): Check<Record<string, unknown>> | undefined {
  const { minProperties, maxProperties } = constraint;
  const parts = all(compileProperties(constraint), compileAdditional(constraint), compileRequired(constraint));
  if (minProperties === undefined && maxProperties === undefined) return parts;
  const tooFew = `should have at least ${minProperties} properties`;
  return (value, errors) => {
    const count = Object.keys(value).length;
    // As in Kubernetes, the fields are not checked if their number is wrong.
    if (minProperties !== undefined && count < minProperties) {
      errors.push(inBody(count, tooFew));
    } else if (maxProperties !== undefined && count > maxProperties) errors.push(tooMany('', count, maxProperties));
    else parts?.(value, errors);
  };
}

function compileProperties({ properties = {} }: Constraint): Check<Record<string, unknown>> | undefined {
  const checks = Object.entries(properties).flatMap(([name, constraint]): [string, Check][] => {
    const check = compileConstraint(constraint);
    return check ? [[name, check]] : [];
  });
  if (checks.length === 0) return undefined;
  return (value, errors) => {
    for (const [name, check] of checks) {
      const part = getOwn(value, name);
      if (part !== undefined) checkPart(check, part, errors, name);
    }
  };
}

function compileAdditional(constraint: Constraint): Check<Record<string, unknown>> | undefined {
  const { properties = {}, additionalProperties } = constraint;
  const check = additionalProperties && compileConstraint(additionalProperties);
  if (!check) return undefined;
  return (value, errors) => {
    for (const name of Object.keys(value)) {
      if (errors.length >= limits.findingsMax) return;
      if (!Object.hasOwn(properties, name)) checkPart(check, value[name], errors, name);
    }
  };
}

function compileRequired({ required: names = [] }: Constraint): Check<Record<string, unknown>> | undefined {
  if (names.length === 0) return undefined;
  return (value, errors) => {
    for (const name of names) if (getOwn(value, name) === undefined) errors.push(required(name));
  };
}

/**
 * anyOf, oneOf, allOf and not. If anyOf or oneOf fails, its error is followed by the errors of the closest alternative,
 * the one with the fewest.
 */
function compileJunctors({ allOf = [], anyOf = [], oneOf = [], not }: Constraint): Check | undefined {
  return all(
    anyOf.length > 0 ? compileAlternatives(anyOf, anyOfProblem) : undefined,
    oneOf.length > 0 ? compileAlternatives(oneOf, oneOfProblem) : undefined,
    allOf.length > 0 ? compileAllOf(allOf) : undefined,
    not && compileNot(not),
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

/** As in kube-apiserver, these messages quote the path and show no value. */
const junctorError = (text: string): Finding => ({ ...invalid('', '', text), describe: (path) => `"${path}" ${text}` });

function errorsOf(check: Check | undefined, value: unknown): readonly Finding[] {
  const errors: Finding[] = [];
  check?.(value, errors);
  return errors;
}

function compileAlternatives(alternatives: readonly Constraint[], problemOf: Problem): Check {
  const checks = alternatives.map(compileConstraint);
  return (value, errors) => {
    const results = checks.map((check) => errorsOf(check, value));
    const valid = results.filter(({ length }) => length === 0).length;
    const problem = problemOf(valid);
    if (problem === undefined) return;
    errors.push(junctorError(problem));
    const [nearest = []] = results.toSorted((a, b) => a.length - b.length);
    errors.push(...nearest);
  };
}

function compileAllOf(constraints: readonly Constraint[]): Check {
  const checks = constraints.map(compileConstraint);
  return (value, errors) => {
    const results = checks.map((check) => errorsOf(check, value));
    const failed = results.filter(({ length }) => length > 0);
    if (failed.length === 0) return;
    const none = failed.length === checks.length ? '. None validated' : '';
    errors.push(...failed.flat(), junctorError(`must validate all the schemas (allOf)${none}`));
  };
}

function compileNot(constraint: Constraint): Check {
  const check = compileConstraint(constraint);
  return (value, errors) => {
    if (errorsOf(check, value).length === 0) {
      errors.push(junctorError('must not validate the schema (not)'));
    }
  };
}
