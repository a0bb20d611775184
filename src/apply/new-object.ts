import type { ApiObject } from '../meta/api-object.ts';
import { type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';

/**
 * What a new object is compared with: one that holds nothing but its identity, and what is there whatever the client sends.
 * Nobody comes to own these: an empty `spec`, an empty list of the containers that a pod must have.
 */
export function newObject(
  schema: StructSchema,
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
): ApiObject {
  return { ...emptyStruct(schema), apiVersion, kind, metadata: {} };
}

const made = new WeakMap<StructSchema, Readonly<Record<string, unknown>>>();

function emptyStruct(schema: StructSchema): Readonly<Record<string, unknown>> {
  const known = made.get(schema);
  if (known) return known;
  const empty: Record<string, unknown> = {};
  made.set(schema, empty);
  for (const [name, field] of Object.entries(schema.fields)) {
    const value =
      field.required || field.presence === 'always' ? emptyValue(schemaOf(field), field.presence) : undefined;
    if (value !== undefined) empty[name] = value;
  }
  return empty;
}

/** Scalars are owned by who sets them, also where they are always there. */
function emptyValue(schema: Schema, presence: string): unknown {
  switch (schema.type) {
    case 'struct':
      return presence === 'always' ? emptyStruct(schema) : undefined;
    case 'list':
      return [];
    case 'map':
      return {};
    default:
      return undefined;
  }
}
