import { markedFieldTest, nestedSchemas } from './nested-schemas.ts';
import { isRecord } from './own-property.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';

/**
 * Removes fields with a disabled feature gate from a decoded value, in place, or does what else they say (`Field.whileOff`). If
 * any field of a feature is set anywhere in the old object, all of its fields are kept, so that objects written while the gate
 * was on can still be updated. What is below a field that says so (`Field.keepsGatedFields`) stays, and counts as no use. `old`
 * is undefined on create; `features` are the names of the enabled gates.
 */
export function dropDisabledFields(schema: Schema, value: unknown, old: unknown, features: ReadonlySet<string>): void {
  if (gatesOf(schema).isSubsetOf(features)) return;
  const used = new Set<string>();
  visit(schema, old, ({ field, name, struct }) => {
    if (field.gate !== undefined && !isAsWhileOff(field, struct[name])) used.add(field.gate);
  });
  const removed: Removed = new Map();
  const isOff = ({ gate }: Field): boolean => gate !== undefined && !features.has(gate) && !used.has(gate);
  visit(schema, value, ({ field, name, struct, schema: owner }) => {
    if (!isOff(field)) return;
    if (field.whileOff === undefined) delete struct[name];
    else if (field.whileOff === 'itemGoes') markRemoved(removed, owner, struct);
    else struct[name] = field.whileOff.becomes;
  });
  if (removed.size > 0) removeItems(schema, value, removed);
}

/** Items that go, by their struct. */
type Removed = Map<string, Set<unknown>>;

const isAsWhileOff = ({ whileOff }: Field, value: unknown): boolean =>
  typeof whileOff === 'object' && whileOff.becomes === value;

function markRemoved(removed: Removed, { name }: StructSchema, item: unknown): void {
  const items = removed.get(name) ?? new Set();
  removed.set(name, items.add(item));
}

/** Takes items out of the lists that hold them, and those that refer to one of them by its name. A list without items goes. */
function removeItems(schema: Schema, value: unknown, removed: Removed): void {
  const names = new Map([...removed].map(([struct, items]) => [struct, new Set([...items].map(nameOf))]));
  const goes = (struct: StructSchema, item: unknown): boolean =>
    removed.get(struct.name)?.has(item) === true ||
    Object.entries(struct.fields).some(
      ([name, { refersTo }]) =>
        refersTo !== undefined && isRecord(item) && names.get(refersTo)?.has(item[name]) === true,
    );
  const clean = (below: Schema, part: unknown): void => {
    if (below.type === 'list' && Array.isArray(part)) for (const item of part) clean(below.items, item);
    if (below.type !== 'struct' || !isRecord(part)) return;
    for (const name of Object.keys(part)) {
      const field = Object.hasOwn(below.fields, name) ? below.fields[name] : undefined;
      if (!field) continue;
      const inner = schemaOf(field);
      const list = part[name];
      if (inner.type === 'list' && inner.items.type === 'struct' && Array.isArray(list)) {
        const { items } = inner;
        const kept = list.filter((item) => !goes(items, item));
        if (kept.length > 0) part[name] = kept;
        else if (list.length > 0) delete part[name];
      }
      clean(inner, part[name]);
    }
  };
  clean(schema, value);
}

const nameOf = (item: unknown): unknown => (isRecord(item) ? item['name'] : undefined);

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

interface Found {
  readonly field: Field;
  readonly name: string;
  /** The struct that has the field, and its schema. */
  readonly struct: Record<string, unknown>;
  readonly schema: StructSchema;
}

/** Calls `found` for each gated field that is set, then descends into the fields that remain. */
function visit(schema: Schema, value: unknown, found: (each: Found) => void): void {
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
    if (field.gate !== undefined) found({ field, name, struct: value, schema });
    if (field.keepsGatedFields) continue;
    const below = schemaOf(field);
    if (gatesOf(below).size > 0) visit(below, value[name], found);
  }
  if (typeof schema.additional !== 'object') return;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(schema.fields, name)) visit(schema.additional, value[name], found);
  }
}
