import { getOwn, isRecord } from './own-property.ts';
import { type Field, type Schema, schemaOf } from './schema.ts';
import { someField } from './within.ts';

/**
 * Takes fields whose feature is off out of a decoded value. A field that the old value has anywhere stays: what was written
 * while the feature was on can still be updated. Changes `value` and never `old`, which is undefined on create.
 */
export function dropDisabledFields(
  schema: Schema,
  value: unknown,
  old: unknown,
  isEnabled: (gate: string) => boolean,
): void {
  const isOff = ({ gate }: Field): boolean => gate !== undefined && !isEnabled(gate);
  if (!someField(schema, isOff)) return;
  const used = new Set<Field>();
  visit(schema, old, (field) => used.add(field));
  visit(schema, value, (field, name, struct) => {
    if (isOff(field) && !used.has(field)) delete struct[name];
  });
}

type Visitor = (field: Field, name: string, struct: Record<string, unknown>) => void;

/** Calls back for each field with a gate that a value has, then goes on below those that are left. */
function visit(schema: Schema, value: unknown, found: Visitor): void {
  if (schema.type === 'list') {
    if (Array.isArray(value)) for (const item of value) visit(schema.items, item, found);
    return;
  }
  if (!isRecord(value)) return;
  if (schema.type === 'map') for (const part of Object.values(value)) visit(schema.values, part, found);
  if (schema.type !== 'struct') return;
  for (const [name, field] of Object.entries(schema.fields)) {
    if (getOwn(value, name) === undefined) continue;
    if (field.gate !== undefined) found(field, name, value);
    visit(schemaOf(field), getOwn(value, name), found);
  }
  if (typeof schema.additional !== 'object') return;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(schema.fields, name)) visit(schema.additional, value[name], found);
  }
}
