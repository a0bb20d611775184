import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';

/** A schema and all schemas that its values can hold, each once. */
export function* within(schema: Schema, seen: Set<Schema> = new Set()): Generator<Schema, void> {
  if (seen.has(schema)) return;
  seen.add(schema);
  yield schema;
  switch (schema.type) {
    case 'map':
      return yield* within(schema.values, seen);
    case 'list':
      return yield* within(schema.items, seen);
    case 'struct':
      for (const field of Object.values(schema.fields)) yield* within(schemaOf(field), seen);
      if (typeof schema.additional === 'object') yield* within(schema.additional, seen);
  }
}

/** True where a struct that the schema's values can hold has such a field. */
export const someField = (schema: Schema, test: (field: Field, struct: StructSchema) => boolean): boolean =>
  within(schema).some(
    (each) => each.type === 'struct' && Object.values(each.fields).some((field) => test(field, each)),
  );
