import type { ApiObject } from '../meta/api-object.ts';
import { type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';
import { zeroOf } from '../schema/zero-value.ts';

/**
 * The object that a new one is compared with: its identity and the values that always exist. Nobody comes to own those,
 * such as an empty `spec`, the empty list of required containers, or a number that is always written and 0.
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

function emptyValue(schema: Schema, presence: string): unknown {
  switch (schema.type) {
    case 'struct':
      return presence === 'always' ? emptyStruct(schema) : undefined;
    case 'list':
      return [];
    case 'map':
      return {};
    default:
      return presence === 'always' ? zeroOf(schema) : undefined;
  }
}
