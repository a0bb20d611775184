import { type Schema, type StructSchema, schemaOf } from './schema.ts';

/** The zero value: for null elements of lists and maps, and for absent `always` fields. That of a struct has no fields. */
export function zeroOf(schema: Schema): unknown {
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return '';
    case 'integer':
    case 'number':
    case 'intOrString':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'list':
      return [];
    case 'map':
    case 'struct':
      return {};
    case 'any':
      return schema.of === 'object' ? {} : null;
    case 'time':
      return null;
  }
}

/**
 * A struct that nobody has filled in, with what clients may rely on: the fields that are always written and those that
 * are required, at any depth. Not a valid object.
 */
export function zeroStruct(struct: StructSchema): Readonly<Record<string, unknown>> {
  const zero: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(struct.fields)) {
    if (field.presence !== 'always' && !field.required && field.documented !== 'required') continue;
    const schema = schemaOf(field);
    zero[name] = schema.type === 'struct' ? zeroStruct(schema) : zeroOf(schema);
  }
  return zero;
}
