import type { Field, Schema, StructSchema } from '../../schema/schema.ts';

/** A member of a message. */
export type Member =
  | { readonly type: 'field'; readonly number: number; readonly name: string; readonly field: Field }
  /** Fields that are inline in JSON and in a message of their own in protobuf. */
  | { readonly type: 'inline'; readonly number: number; readonly members: readonly Member[] };

/** The members of a struct's message, by number, without `apiVersion` and `kind`, which the envelope carries. */
export function membersOf(struct: StructSchema): readonly Member[] {
  return group(Object.entries(struct.fields).filter(([, { number = 0 }]) => number > 0));
}

function group(fields: readonly (readonly [name: string, field: Field])[], depth = 0): readonly Member[] {
  const inline = Map.groupBy(
    fields.filter(([, { within = [] }]) => within.length > depth),
    ([, { within = [] }]) => within[depth] ?? 0,
  );
  const members: Member[] = [...inline].map(([number, inner]) => ({
    type: 'inline',
    number,
    members: group(inner, depth + 1),
  }));
  for (const [name, field] of fields) {
    if ((field.within?.length ?? 0) === depth) members.push({ type: 'field', number: field.number ?? 0, name, field });
  }
  return members.sort((a, b) => a.number - b.number);
}

/** False if the fields have no numbers, as in custom resources, which have no protobuf form (spec section 4.3). */
export const hasMessage = (struct: StructSchema): boolean =>
  Object.values(struct.fields).some(({ number = 0 }) => number > 0);

/**
 * True for elements that are lists or maps. Protobuf cannot nest these in a list or map, so each is wrapped in a message
 * with a single field.
 */
export const isWrapped = (element: Schema): boolean => element.type === 'list' || element.type === 'map';

/** Field numbers of messages that represent a single JSON value. */
export const numbers = {
  /** The wrapped list or map. */
  wrapped: 1,
  mapKey: 1,
  mapValue: 2,
  seconds: 1,
  nanos: 2,
  /** The text of a quantity, or the JSON text of an `any` value. */
  text: 1,
  /** IntOrString: the type, and a field for each. */
  intOrString: 1,
  int: 2,
  string: 3,
} as const;
