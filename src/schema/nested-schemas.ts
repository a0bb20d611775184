import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';

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

/** True if any struct in the schema has a field that passes the test. */
export const someField = (schema: Schema, test: (field: Field, struct: StructSchema) => boolean): boolean =>
  nestedSchemas(schema).some(
    (each) => each.type === 'struct' && Object.values(each.fields).some((field) => test(field, each)),
  );
