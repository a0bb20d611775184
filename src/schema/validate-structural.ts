import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { formatCheckOf } from '../meta/crd-formats.ts';
import { duplicate, invalid } from '../meta/field-error.ts';
import type { Check, Finding } from './check.ts';
import { equalValues } from './equal-values.ts';
import { getOwn, isRecord } from './own-property.ts';
import type { ListSchema, Schema } from './schema.ts';

/** Checks of structural schemas that other schemas do not have: types, duplicates, and updates of invalid objects. */

/** A type that a schema asks for. */
interface ExpectedType {
  /** As messages name it. */
  readonly name: string;
  readonly isOf: (value: unknown) => boolean;
}

/** As in Go, a double that holds an integer exactly is one. */
const isInteger = (value: unknown): boolean => Number.isSafeInteger(value) || typeof value === 'bigint';
const isString = (value: unknown): boolean => typeof value === 'string';
const object: ExpectedType = { name: 'object', isOf: isRecord };

const expectedTypes: Readonly<Partial<Record<Schema['type'], ExpectedType>>> = {
  string: { name: 'string', isOf: isString },
  integer: { name: 'integer', isOf: isInteger },
  number: { name: 'number', isOf: (value) => typeof value === 'number' || typeof value === 'bigint' },
  boolean: { name: 'boolean', isOf: (value) => typeof value === 'boolean' },
  intOrString: { name: 'integer,string', isOf: (value) => isString(value) || isInteger(value) },
  list: { name: 'array', isOf: Array.isArray },
  map: object,
  struct: object,
};

/** The type of a JSON value, as published servers name it. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isInteger(value)) return 'integer';
  return typeof value;
}

/** The check of a value's type; undefined if any type will do. */
export function compileType({ type, nullable, constraint }: Schema): Check | undefined {
  const expected = expectedTypes[type];
  if (!expected) return undefined;
  const { name, isOf } = expected;
  const format = formatCheckOf(constraint?.format) && constraint?.format;
  return (value, findings) => {
    if (isOf(value) || (value === null && nullable)) return;
    findings.push(typeError(typeOf(value), format ?? name, format !== undefined));
  };
}

/** Formats of numbers, which stand in the place of their type where the schema has a format. */
const formats: Readonly<Record<string, string>> = { integer: 'int64', number: 'double' };

function typeError(type: string, expected: string, isFormat: boolean): Finding {
  const got = isFormat && type !== 'null' ? (formats[type] ?? '') : type;
  return {
    ...invalid('', got, ''),
    type: 'FieldValueTypeInvalid',
    describe: (path) => `${path} in body must be of type ${expected}: "${got}"`,
  };
}

/**
 * The check of a value that may be invalid if an update does not change it (ratcheting, KEP-4008). `old` is undefined if
 * there is no old value that it corresponds to.
 */
export const ratcheted = (check: Check): Check => {
  return (value, findings, old) => {
    const found = findings.length;
    check(value, findings, old);
    if (old === undefined || findings.length === found || !equalValues(value, old)) return;
    const kept = findings.splice(found).filter(({ ratchet }) => ratchet !== undefined);
    findings.push(...kept);
  };
};

/** The old values of the items of a list, by index: those with the same keys, for lists of type `map`. */
export function oldItems({ listType, mapKeys = [] }: ListSchema, old: unknown): (item: unknown) => unknown {
  if (listType !== 'map' || !Array.isArray(old)) return none;
  let byKey: Map<string, unknown> | undefined;
  return (item) => {
    byKey ??= new Map(old.toReversed().map((each) => [keyOf(each, mapKeys), each]));
    return byKey.get(keyOf(item, mapKeys));
  };
}

const none = (): undefined => undefined;

const keyOf = (item: unknown, mapKeys: readonly string[]): string =>
  jsonText(mapKeys.map((key) => (isRecord(item) ? (getOwn(item, key) ?? null) : null)));

/** The check for duplicates of a set or a list map: each is reported once, where it is repeated first. */
export function compileDuplicates({ listType, mapKeys = [] }: ListSchema): Check<readonly unknown[]> | undefined {
  if (listType === 'atomic') return undefined;
  const shown = listType === 'set' ? (item: unknown) => item : keysOf(mapKeys);
  return (list, findings) => {
    const wrong = listType === 'map' ? list.findIndex((item) => item !== null && !isRecord(item)) : -1;
    if (wrong >= 0) {
      const text = 'must be an object for an array of list-type map';
      const error = invalid(`[${wrong}]`, list[wrong], text);
      findings.push({ ...error, asGo: true, ratchet: 'duplicates', keys: 'bracketed' });
      return;
    }
    if (list.length < 2) return;
    const counts = new Map<string, number>();
    for (const [index, item] of list.entries()) {
      if (findings.length >= limits.findingsMax) return;
      const text = jsonText(shown(item));
      const count = (counts.get(text) ?? 0) + 1;
      counts.set(text, count);
      if (count === 2)
        findings.push({
          ...duplicate(`[${index}]`, shown(item)),
          asGo: true,
          ratchet: 'duplicates',
          keys: 'bracketed',
        });
    }
  };
}

/** The keys that an item has. */
const keysOf = (mapKeys: readonly string[]) => (item: unknown) =>
  Object.fromEntries(
    mapKeys.flatMap((key) => (isRecord(item) && Object.hasOwn(item, key) ? [[key, item[key]] as const] : [])),
  );
