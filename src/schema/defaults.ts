import { limits } from '../base/limits.ts';
import { entityTooLarge } from '../meta/status-error.ts';
import { fieldListsOf } from './field-lists.ts';
import { nestedTest } from './nested-schemas.ts';
import { getOwn, isRecord, setOwn } from './own-property.ts';
import {
  type AnySchema,
  type Field,
  isScalar,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StructSchema,
  schemaOf,
} from './schema.ts';

/**
 * Sets the schema's defaults on absent fields of a decoded value, in place, at any depth. Fields that are present keep
 * their value, including null. An absent struct without a default of its own stays absent. Each default is a fresh copy.
 * Throws RequestEntityTooLarge if defaults would add more than `limits.defaultedValuesMax` values.
 */
export function applyDefaults(schema: Schema, value: unknown): void {
  valuesLeft = limits.defaultedValuesMax;
  fillerOf(schema)?.(value);
}

/** Values that defaults may still add to the present object: each item of a list may get all of them. */
let valuesLeft = 0;

/** Applies the defaults of one schema to `value`, which need not conform to it. */
type Filler = (value: unknown) => void;

const fillers = new WeakMap<Schema, { readonly fill: Filler | undefined }>();

/** Undefined if the schema has no defaults at any depth. */
function fillerOf(schema: Schema): Filler | undefined {
  if (isScalar(schema)) return undefined;
  let filler = fillers.get(schema);
  if (!filler) {
    filler = { fill: hasNestedDefaults(schema) ? compile(schema) : undefined };
    fillers.set(schema, filler);
  }
  return filler.fill;
}

/** True if the schema itself has a default for one of its parts. */
function hasDefaults(schema: Schema): boolean {
  switch (schema.type) {
    case 'struct':
      return fieldListsOf(schema).defaulted.length > 0;
    case 'list':
      return schema.itemDefault !== undefined;
    case 'map':
      return schema.valueDefault !== undefined;
    default:
      return false;
  }
}

const hasNestedDefaults = nestedTest(hasDefaults);

function compile(schema: Schema): Filler | undefined {
  switch (schema.type) {
    case 'struct':
      return compileStruct(schema);
    case 'list':
      return compileList(schema);
    case 'map':
      return compileMap(schema);
    case 'any':
      return compileAny(schema);
    default:
      return undefined;
  }
}

function compileList({ items, itemDefault }: ListSchema): Filler {
  const fill = fillerOf(items);
  const replacesNull = itemDefault !== undefined && !items.nullable;
  return (value) => {
    if (!Array.isArray(value)) return;
    for (let i = 0; i < value.length; i++) {
      if (replacesNull && value[i] === null) value[i] = copyOf(itemDefault);
      fill?.(value[i]);
    }
  };
}

function compileMap({ values, valueDefault }: MapSchema): Filler {
  const fill = fillerOf(values);
  const replacesNull = valueDefault !== undefined && !values.nullable;
  return (value) => {
    if (!isRecord(value)) return;
    for (const key of Object.keys(value)) {
      if (replacesNull && value[key] === null) setOwn(value, key, copyOf(valueDefault));
      fill?.(value[key]);
    }
  };
}

function compileAny({ object, list }: AnySchema): Filler {
  const fillObject = object && fillerOf(object);
  const fillList = list && fillerOf(list);
  return (value) => (Array.isArray(value) ? fillList : fillObject)?.(value);
}

interface FieldFiller {
  readonly name: string;
  /** Undefined if the field has no default. */
  readonly initial: unknown;
  readonly fill: Filler | undefined;
}

function compileStruct(struct: StructSchema): Filler {
  // Compiled on first use, because structs may be recursive.
  let fields: readonly FieldFiller[] | undefined;
  const { additional } = struct;
  return (value) => {
    if (!isRecord(value)) return;
    fields ??= fieldFillers(struct);
    for (const { name, initial, fill } of fields) {
      let part = getOwn(value, name);
      if (part === undefined && initial !== undefined) {
        part = copyOf(initial);
        setOwn(value, name, part);
      }
      if (part !== undefined) fill?.(part);
    }
    if (typeof additional === 'object') fillOthers(struct, fillerOf(additional), value);
  };
}

function fillOthers({ fields }: StructSchema, fill: Filler | undefined, value: Record<string, unknown>): void {
  if (!fill) return;
  for (const key of Object.keys(value)) if (!Object.hasOwn(fields, key)) fill(value[key]);
}

function fieldFillers(struct: StructSchema): readonly FieldFiller[] {
  const { defaulted, containers } = fieldListsOf(struct);
  const fillers: FieldFiller[] = [];
  for (const name of new Set([...defaulted, ...containers])) {
    const field = struct.fields[name] as Field;
    const fill = fillerOf(schemaOf(field));
    if (field.default !== undefined || fill) fillers.push({ name, initial: field.default, fill });
  }
  return fillers;
}

/** A copy of a JSON value. */
function copyOf(value: unknown): unknown {
  if (valuesLeft-- <= 0) {
    throw entityTooLarge(`defaults would add more than ${limits.defaultedValuesMax} values to the object`);
  }
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyOf(value[key]));
  return copy;
}
