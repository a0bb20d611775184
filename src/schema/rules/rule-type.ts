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
  structType,
  timestampType,
} from '../../cel/type.ts';
import type { Schema, StructSchema } from '../schema.ts';
import { declaredFields, isBare, type VisibleField, visibleFields } from './visible-schema.ts';

/** The fields of objects that are seen, by their names in expressions. */
type View = (struct: StructSchema) => ReadonlyMap<string, Pick<VisibleField, 'schema'>>;

/** Definitions around a part of a schema. */
interface Around {
  readonly definition: string;
  readonly outer: Around | undefined;
}

/**
 * The type of a value in rules of custom resources. `name` is that of its place: equal schemas in different places are different
 * types, as in kube-apiserver. Undefined if the value is invisible.
 */
export const ruleType = (schema: Schema, name: string): CelType | undefined =>
  typeOf(schema, name, visibleFields, undefined);

/**
 * The type of an object by its OpenAPI schema, against which expressions of policies are checked (KEP-3488): with all of the
 * metadata, of embedded objects too. A definition within itself is an object without fields.
 */
export const documentedType = (schema: StructSchema, name: string): CelType =>
  objectType(schema, name, declaredFields, undefined);

function typeOf(schema: Schema, name: string, view: View, around: Around | undefined): CelType | undefined {
  switch (schema.type) {
    case 'string':
      return textTypes[schema.constraint?.format ?? ''] ?? stringType;
    case 'bytes':
      return bytesType;
    case 'time':
      return timestampType;
    case 'intOrString':
      return dynType;
    case 'integer':
      return intType;
    case 'number':
      return doubleType;
    case 'boolean':
      return boolType;
    case 'list': {
      const element = typeOf(schema.items, `${name}.@idx`, view, around);
      return element && listType(element);
    }
    case 'map': {
      if (isBare(schema.values)) return structType(name, {});
      const value = typeOf(schema.values, `${name}.@elem`, view, around);
      return value && mapType(stringType, value);
    }
    case 'struct':
      return objectType(schema, name, view, around);
    case 'any':
      return schema.of === 'object' ? structType(name, {}) : undefined;
    // Documented as one of several types, which expressions do not see.
    case 'quantity':
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
function objectType(schema: StructSchema, name: string, view: View, outer: Around | undefined): CelType {
  if (isWithin(schema.name, outer)) return structType(name, {});
  const around = schema.name === '' ? outer : { definition: schema.name, outer };
  let fields: Readonly<Record<string, CelType>> | undefined;
  return {
    kind: 'struct',
    name,
    get fields() {
      fields ??= fieldTypes(view(schema), name, (part, place) => typeOf(part, place, view, around));
      return fields;
    },
  };
}

function isWithin(definition: string, around: Around | undefined): boolean {
  for (let each = around; each !== undefined; each = each.outer) if (each.definition === definition) return true;
  return false;
}

function fieldTypes(
  fields: ReturnType<View>,
  name: string,
  typeAt: (schema: Schema, name: string) => CelType | undefined,
): Readonly<Record<string, CelType>> {
  const types: [string, CelType][] = [];
  for (const [escaped, field] of fields) {
    const type = typeAt(field.schema, `${name}.${escaped}`);
    if (type) types.push([escaped, type]);
  }
  return Object.fromEntries(types);
}
