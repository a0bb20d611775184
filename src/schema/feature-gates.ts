import { markedFieldTest, nestedSchemas } from './nested-schemas.ts';
import { isRecord } from './own-property.ts';
import { type Field, type Schema, schemaOf } from './schema.ts';

/**
 * Removes fields with a disabled feature gate from a decoded value, in place. A field that is set anywhere in the old
 * object is kept, so that objects written while the gate was on can still be updated. `old` is undefined on create;
 * `features` are the names of the enabled gates.
 */
export function dropDisabledFields(schema: Schema, value: unknown, old: unknown, features: ReadonlySet<string>): void {
  if (gatesOf(schema).isSubsetOf(features)) return;
  const isOff = ({ gate }: Field): boolean => gate !== undefined && !features.has(gate);
  const used = new Set<Field>();
  visit(schema, old, (field) => used.add(field));
  visit(schema, value, (field, name, struct) => {
    if (isOff(field) && !used.has(field)) delete struct[name];
  });
}

/** The feature gates of a schema's fields at any depth. Most schemas have none, so most calls end here. */
function gatesOf(schema: Schema): ReadonlySet<string> {
  const known = gates.get(schema);
  if (known) return known;
  const found = new Set<string>();
  for (const each of hasGate(schema) ? nestedSchemas(schema) : []) {
    if (each.type !== 'struct') continue;
    for (const { gate } of Object.values(each.fields)) if (gate !== undefined) found.add(gate);
  }
  gates.set(schema, found);
  return found;
}

const hasGate = markedFieldTest(({ gate }) => gate !== undefined);

const gates = new WeakMap<Schema, ReadonlySet<string>>();

type Visitor = (field: Field, name: string, struct: Record<string, unknown>) => void;

/** Calls `found` for each gated field that is set, then descends into the fields that remain. */
function visit(schema: Schema, value: unknown, found: Visitor): void {
  if (schema.type === 'list') {
    if (Array.isArray(value)) for (const item of value) visit(schema.items, item, found);
    return;
  }
  if (!isRecord(value)) return;
  if (schema.type === 'map') for (const part of Object.values(value)) visit(schema.values, part, found);
  if (schema.type !== 'struct') return;
  for (const name of Object.keys(value)) {
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (!field || value[name] === undefined) continue;
    if (field.gate !== undefined) found(field, name, value);
    const below = schemaOf(field);
    if (gatesOf(below).size > 0) visit(below, value[name], found);
  }
  if (typeof schema.additional !== 'object') return;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(schema.fields, name)) visit(schema.additional, value[name], found);
  }
}
