import { fieldListsOf } from './field-lists.ts';
import { type Field, isScalar, type Schema, type StructSchema, schemaOf } from './schema.ts';

/** The schema and all schemas nested in it, each once. */
export function* nestedSchemas(schema: Schema, seen: Set<Schema> = new Set()): Generator<Schema, void> {
  if (seen.has(schema)) return;
  seen.add(schema);
  yield schema;
  switch (schema.type) {
    case 'map':
      return yield* nestedSchemas(schema.values, seen);
    case 'list':
      return yield* nestedSchemas(schema.items, seen);
    case 'any':
      if (schema.object) yield* nestedSchemas(schema.object, seen);
      if (schema.list) yield* nestedSchemas(schema.list, seen);
      return;
    case 'struct':
      for (const field of Object.values(schema.fields)) yield* nestedSchemas(schemaOf(field), seen);
      if (typeof schema.additional === 'object') yield* nestedSchemas(schema.additional, seen);
  }
}

/** A test whether any struct in a schema has a marked field that passes the test. Structural schemas have no marks. */
export const markedFieldTest = (test: (field: Field, struct: StructSchema) => boolean): ((schema: Schema) => boolean) =>
  nestedTest(
    (schema) =>
      schema.type === 'struct' &&
      !schema.structural &&
      Object.values(schema.fields).some((field) => test(field, schema)),
  );

/**
 * A test whether a schema, or any schema nested in it, is of some kind. Each part of a structural schema is looked at once,
 * whoever asks: they are large, and their parts are shared. Scalars in them are not looked at.
 */
export function nestedTest(test: (schema: Schema) => boolean): (schema: Schema) => boolean {
  const known = new WeakMap<Schema, boolean>();
  const isOrHas = (schema: Schema): boolean => {
    if (isScalar(schema)) return test(schema);
    const before = known.get(schema);
    if (before !== undefined) return before;
    const found = schema.structural ? test(schema) || somePart(schema, isOrHas) : nestedSchemas(schema).some(test);
    known.set(schema, found);
    return found;
  };
  return isOrHas;
}

/** Whether any schema directly within a schema passes a test. */
function somePart(schema: Schema, test: (part: Schema) => boolean): boolean {
  switch (schema.type) {
    case 'map':
      return test(schema.values);
    case 'list':
      return test(schema.items);
    case 'any':
      return (schema.object !== undefined && test(schema.object)) || (schema.list !== undefined && test(schema.list));
    case 'struct': {
      const { fields, additional } = schema;
      if (fieldListsOf(schema).containers.some((name) => test(schemaOf(fields[name] as Field)))) return true;
      return typeof additional === 'object' && test(additional);
    }
    default:
      return false;
  }
}
