import type { Field, Schema, StructSchema } from '../../schema/schema.ts';

/** A part of a message. */
export type Member =
  | { readonly type: 'field'; readonly number: number; readonly name: string; readonly field: Field }
  /** Fields that JSON has in the object itself and protobuf in a message of their own. */
  | { readonly type: 'inline'; readonly number: number; readonly members: readonly Member[] };

/** The members of a struct's message, by number. `apiVersion` and `kind` are none: they stand in the envelope. */
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

/** False for kinds whose fields have no numbers, as those of custom resources: they have no protobuf form (spec 4.3). */
export const hasMessage = (struct: StructSchema): boolean =>
  Object.values(struct.fields).some(({ number = 0 }) => number > 0);

/**
 * Protobuf has no lists of lists or of maps, and no maps of them: an element that is one is a message whose only field
 * it is.
 */
export const isWrapped = (element: Schema): boolean => element.type === 'list' || element.type === 'map';

/** Numbers within messages that stand for what is one value in JSON. */
export const numbers = {
  /** The list or map that is an element. */
  wrapped: 1,
  mapKey: 1,
  mapValue: 2,
  seconds: 1,
  nanos: 2,
  /** The text of a quantity, the JSON text of any value. */
  text: 1,
  /** An integer or a string: which one, and both. */
  intOrString: 1,
  int: 2,
  string: 3,
} as const;
