import { jsonText } from '../base/json-text.ts';
import type { FieldError } from '../meta/field-error.ts';
import { joinPath } from './field-path.ts';
import { markedFieldTest } from './nested-schemas.ts';
import { getOwn, isRecord } from './own-property.ts';
import { type Field, type ListSchema, type Schema, type StructSchema, schemaOf } from './schema.ts';
import { compileFreeze, compileImmutable } from './validate-markers.ts';

/**
 * Errors for changed immutable and frozen fields. Both values must be decoded. Elements of `map` lists are matched by
 * their keys, values of maps by key; new elements are not checked. Error paths start with `path`.
 */
export function validateUpdate(schema: Schema, value: unknown, old: unknown, path = ''): FieldError[] {
  return (comparisonOf(schema)?.(value, old) ?? []).map((error) => ({ ...error, field: joinPath(path, error.field) }));
}

/** Error paths are relative to the value. */
type Comparison = (value: unknown, old: unknown) => readonly FieldError[];

const comparisons = new WeakMap<Schema, { readonly compare: Comparison | undefined }>();

/** Undefined if the schema has no immutable fields at any depth. */
function comparisonOf(schema: Schema): Comparison | undefined {
  let comparison = comparisons.get(schema);
  if (!comparison) {
    comparison = { compare: hasImmutable(schema) ? compile(schema) : undefined };
    comparisons.set(schema, comparison);
  }
  return comparison.compare;
}

const hasImmutable = markedFieldTest((field, struct) => (field.immutable ?? struct.freeze) !== undefined);

function compile(schema: Schema): Comparison | undefined {
  switch (schema.type) {
    case 'struct':
      return compileStruct(schema);
    case 'list':
      return compileList(schema);
    case 'map': {
      const compare = comparisonOf(schema.values);
      return compare && ((value, old) => compareKeys(compare, value, old));
    }
    default:
      return undefined;
  }
}

function compileStruct(struct: StructSchema): Comparison {
  // Compiled on first use, because structs may be recursive.
  let fields: readonly [string, Comparison][] | undefined;
  const freeze = struct.freeze && compileFreeze(struct.freeze);
  return (value, old) => {
    if (!isRecord(value) || !isRecord(old)) return [];
    fields ??= Object.entries(struct.fields).flatMap(([name, field]): [string, Comparison][] => {
      const compare = compileField(field);
      return compare ? [[name, compare]] : [];
    });
    const errors = fields.flatMap(([name, compare]) => below(name, compare(getOwn(value, name), getOwn(old, name))));
    const others = typeof struct.additional === 'object' ? comparisonOf(struct.additional) : undefined;
    return [
      ...errors,
      ...(others ? compareOthers(struct, others, value, old) : []),
      ...(freeze ? freeze(value, old) : []),
    ];
  };
}

const compareOthers = (
  { fields }: StructSchema,
  compare: Comparison,
  value: Readonly<Record<string, unknown>>,
  old: Readonly<Record<string, unknown>>,
): readonly FieldError[] =>
  Object.keys(value)
    .filter((key) => !Object.hasOwn(fields, key) && Object.hasOwn(old, key))
    .flatMap((key) => below(key, compare(value[key], old[key])));

const compileField = (field: Field): Comparison | undefined => compileImmutable(field) ?? comparisonOf(schemaOf(field));

function compareKeys(compare: Comparison, value: unknown, old: unknown): readonly FieldError[] {
  if (!isRecord(value) || !isRecord(old)) return [];
  return Object.keys(value)
    .filter((key) => Object.hasOwn(old, key))
    .flatMap((key) => below(`[${key}]`, compare(value[key], old[key])));
}

function compileList({ items, listType, mapKeys = [] }: ListSchema): Comparison | undefined {
  const compare = comparisonOf(items);
  if (!compare || listType !== 'map') return undefined;
  const identify = (item: unknown): string =>
    jsonText(mapKeys.map((key) => (isRecord(item) ? getOwn(item, key) : undefined)));
  return (value, old) => {
    if (!Array.isArray(value) || !Array.isArray(old)) return [];
    const before = new Map(old.map((item) => [identify(item), item]));
    return value.flatMap((item, index) => below(`[${index}]`, compare(item, before.get(identify(item)))));
  };
}

const below = (step: string, errors: readonly FieldError[]): readonly FieldError[] =>
  errors.map((error) => ({ ...error, field: joinPath(step, error.field) }));
