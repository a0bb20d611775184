import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  timestampType,
} from '../../cel/type.ts';
import type { Schema, StructSchema } from '../schema.ts';
import { isBare, visibleFields } from './visible-schema.ts';

/**
 * The type of a value in expressions. `name` is that of its place: equal schemas in different places are different types, as
 * in kube-apiserver. Undefined if the value is invisible.
 */
export function ruleType(schema: Schema, name: string): CelType | undefined {
  switch (schema.type) {
    case 'string':
      return textTypes[schema.constraint?.format ?? ''] ?? stringType;
    case 'intOrString':
      return dynType;
    case 'integer':
      return intType;
    case 'number':
      return doubleType;
    case 'boolean':
      return boolType;
    case 'list': {
      const element = ruleType(schema.items, `${name}.@idx`);
      return element && listType(element);
    }
    case 'map': {
      if (isBare(schema.values)) return { kind: 'struct', name, fields: {} };
      const value = ruleType(schema.values, `${name}.@elem`);
      return value && mapType(stringType, value);
    }
    case 'struct':
      return objectType(schema, name);
    default:
      return undefined;
  }
}

/** Types of strings by format. */
const textTypes: Readonly<Record<string, CelType>> = {
  byte: bytesType,
  duration: durationType,
  date: timestampType,
  'date-time': timestampType,
};

/** Types of fields are made when an expression selects one: most fields of a large schema are never named. */
function objectType(schema: StructSchema, name: string): CelType {
  let fields: Readonly<Record<string, CelType>> | undefined;
  return {
    kind: 'struct',
    name,
    get fields() {
      fields ??= fieldTypes(schema, name);
      return fields;
    },
  };
}

function fieldTypes(schema: StructSchema, name: string): Readonly<Record<string, CelType>> {
  const types: [string, CelType][] = [];
  for (const [escaped, field] of visibleFields(schema)) {
    const type = ruleType(field.schema, `${name}.${escaped}`);
    if (type) types.push([escaped, type]);
  }
  return Object.fromEntries(types);
}
