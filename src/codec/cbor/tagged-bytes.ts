import { getOwn, isRecord, setOwn } from '../../schema/own-property.ts';
import { type Schema, schemaOf } from '../../schema/schema.ts';

/**
 * Puts values of `other` in the places where the schema has bytes, in place. Both were read from the same document, so
 * they differ in texts only.
 */
export function withBytes(schema: Schema, value: unknown, other: unknown): unknown {
  switch (schema.type) {
    case 'bytes':
      return other;
    case 'list':
      if (!Array.isArray(value) || !Array.isArray(other)) return value;
      for (const [at, item] of value.entries()) value[at] = withBytes(schema.items, item, other[at]);
      return value;
    case 'map':
      return inFields(value, other, () => schema.values);
    case 'struct': {
      const { fields, additional } = schema;
      const others = typeof additional === 'object' ? additional : undefined;
      return inFields(value, other, (name) => {
        const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
        return field ? schemaOf(field) : others;
      });
    }
    default:
      return value;
  }
}

function inFields(value: unknown, other: unknown, schemaOfField: (name: string) => Schema | undefined): unknown {
  if (!isRecord(value) || !isRecord(other)) return value;
  for (const name of Object.keys(value)) {
    const schema = schemaOfField(name);
    if (schema) setOwn(value, name, withBytes(schema, getOwn(value, name), getOwn(other, name)));
  }
  return value;
}
