import type { Constraint } from '../constraint.ts';
import {
  additionalOf,
  isTrue,
  type JsonSchema,
  memberOf,
  namedSchemasIn,
  numberOf,
  schemaIn,
  schemasIn,
  textOf,
  textsOf,
} from './json-schema.ts';

/** The value validation of a schema; undefined if it has none. `typed` omits alternatives that say no more than its type. */
export function constraintOf(schema: JsonSchema, typed?: 'intOrString'): Constraint | undefined {
  const constraint = present({
    format: textOf(schema, 'format'),
    enum: listOf(schema, 'enum'),
    minimum: numberOf(schema, 'minimum'),
    maximum: numberOf(schema, 'maximum'),
    exclusiveMinimum: isTrue(schema, 'exclusiveMinimum') || undefined,
    exclusiveMaximum: isTrue(schema, 'exclusiveMaximum') || undefined,
    multipleOf: numberOf(schema, 'multipleOf'),
    minLength: numberOf(schema, 'minLength'),
    maxLength: numberOf(schema, 'maxLength'),
    pattern: textOf(schema, 'pattern'),
    minItems: numberOf(schema, 'minItems'),
    maxItems: numberOf(schema, 'maxItems'),
    minProperties: numberOf(schema, 'minProperties'),
    maxProperties: numberOf(schema, 'maxProperties'),
    required: textsOf(schema, 'required'),
    allOf: nestedIn(schema, 'allOf', typed === undefined ? undefined : withoutIntOrString),
    anyOf: typed !== undefined && isIntOrString(schemasIn(schema, 'anyOf')) ? undefined : nestedIn(schema, 'anyOf'),
    oneOf: nestedIn(schema, 'oneOf'),
    not: mapped(schemaIn(schema, 'not'), nested),
    additionalProperties: additionalOf(schema) === false ? false : undefined,
  });
  return constraint as Constraint | undefined;
}

const listOf = (schema: JsonSchema, name: string): readonly unknown[] | undefined => {
  const value = memberOf(schema, name);
  return Array.isArray(value) && value.length > 0 ? value : undefined;
};

const mapped = <T, R>(value: T | undefined, map: (value: T) => R): R | undefined =>
  value === undefined ? undefined : map(value);

/** The object without undefined members; undefined if nothing is left. */
function present(members: Record<string, unknown>): Record<string, unknown> | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** A schema within `allOf`, `anyOf`, `oneOf` or `not`: value validation at any depth. */
function nested(schema: JsonSchema): Constraint {
  const properties = namedSchemasIn(schema, 'properties');
  const additional = additionalOf(schema);
  return {
    ...constraintOf(schema),
    ...present({
      properties:
        properties.length === 0
          ? undefined
          : Object.fromEntries(properties.map(([name, each]) => [name, nested(each)])),
      items: mapped(schemaIn(schema, 'items'), nested),
      additionalProperties: typeof additional === 'object' ? nested(additional) : undefined,
    }),
  };
}

function nestedIn(
  schema: JsonSchema,
  name: string,
  change: (schema: JsonSchema, index: number) => JsonSchema = (each) => each,
): readonly Constraint[] | undefined {
  const schemas = schemasIn(schema, name);
  return schemas.length === 0 ? undefined : schemas.map((each, index) => nested(change(each, index)));
}

/** `anyOf: [{ type: integer }, { type: string }]`. */
export const isIntOrString = (schemas: readonly JsonSchema[]): boolean =>
  schemas.length === 2 && hasOnlyType(schemas[0], 'integer') && hasOnlyType(schemas[1], 'string');

const hasOnlyType = (schema: JsonSchema | undefined, type: string): boolean =>
  schema !== undefined && schema.type === type && Object.keys(schema).length === 1;

/** Removes the alternatives of an integer or string from the first schema of `allOf`. */
function withoutIntOrString(schema: JsonSchema, index: number): JsonSchema {
  if (index > 0 || !isIntOrString(schemasIn(schema, 'anyOf'))) return schema;
  const { anyOf, ...rest } = schema;
  return rest;
}
