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
  const constraint: Record<string, unknown> = {};
  let isEmpty = true;
  for (const keyword of Object.keys(schema)) {
    const value = keywords.get(keyword)?.(schema, keyword, typed);
    if (value === undefined) continue;
    constraint[keyword] = value;
    isEmpty = false;
  }
  return isEmpty ? undefined : (constraint as Constraint);
}

/** Reads a keyword; undefined if it restricts nothing. */
type Reader = (schema: JsonSchema, keyword: string, typed: 'intOrString' | undefined) => unknown;

const flag: Reader = (schema, keyword) => isTrue(schema, keyword) || undefined;

function list(schema: JsonSchema, keyword: string): readonly unknown[] | undefined {
  const value = memberOf(schema, keyword);
  return Array.isArray(value) && value.length > 0 ? value : undefined;
}

const several: Reader = (schema, keyword, typed) => {
  let schemas = schemasIn(schema, keyword);
  if (typed && keyword === 'anyOf' && isIntOrString(schemas)) return undefined;
  if (typed && keyword === 'allOf') schemas = schemas.flatMap((each, index) => (index === 0 ? untyped(each) : [each]));
  return schemas.length === 0 ? undefined : schemas.map(nested);
};

const keywords: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['format', textOf],
  ['enum', list],
  ['minimum', numberOf],
  ['maximum', numberOf],
  ['exclusiveMinimum', flag],
  ['exclusiveMaximum', flag],
  ['multipleOf', numberOf],
  ['minLength', numberOf],
  ['maxLength', numberOf],
  ['pattern', textOf],
  ['minItems', numberOf],
  ['maxItems', numberOf],
  ['minProperties', numberOf],
  ['maxProperties', numberOf],
  ['required', textsOf],
  ['allOf', several],
  ['anyOf', several],
  ['oneOf', several],
  ['not', (schema, keyword) => nestedIn(schema, keyword)],
  ['additionalProperties', (schema) => (additionalOf(schema) === false ? false : undefined)],
]);

function nestedIn(schema: JsonSchema, keyword: string): Constraint | undefined {
  const value = schemaIn(schema, keyword);
  return value && nested(value);
}

/** A schema within `allOf`, `anyOf`, `oneOf` or `not`: value validation at any depth. */
function nested(schema: JsonSchema): Constraint {
  const additional = additionalOf(schema);
  const items = nestedIn(schema, 'items');
  const properties = namedSchemasIn(schema, 'properties').map(([name, each]) => [name, nested(each)] as const);
  return {
    ...constraintOf(schema),
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(items && { items }),
    ...(typeof additional === 'object' && { additionalProperties: nested(additional) }),
  };
}

/** `anyOf: [{ type: integer }, { type: string }]`. */
export const isIntOrString = (schemas: readonly JsonSchema[]): boolean =>
  schemas.length === 2 && hasOnlyType(schemas[0], 'integer') && hasOnlyType(schemas[1], 'string');

const hasOnlyType = (schema: JsonSchema | undefined, type: string): boolean =>
  schema !== undefined && schema.type === type && Object.keys(schema).length === 1;

/** The schema without the alternatives of an integer or string; nothing if that is all that it has. */
function untyped(schema: JsonSchema): readonly JsonSchema[] {
  if (!isIntOrString(schemasIn(schema, 'anyOf'))) return [schema];
  const { anyOf, ...rest } = schema;
  return Object.keys(rest).length === 0 ? [] : [rest];
}
