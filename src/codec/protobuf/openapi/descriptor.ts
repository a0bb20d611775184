import { isRecord } from '../../../schema/own-property.ts';

/**
 * How the JSON of an OpenAPI document is written as the protobuf messages that clients have compiled in: those of
 * gnostic, packages `openapi.v2` and `openapi.v3`. There a map is a list of messages with a name and a value, a value of
 * one of several shapes is a message with a field for each, and what has no fixed shape is YAML text.
 */
export type Descriptors = Readonly<Record<string, Fields | Choice>>;

/**
 * `string`, `bool`, `double`, `int64`, `any` (YAML text) or the name of a message; `T[]`, a list of one, where a value
 * that is no list is written as the only element; `T{}`, a map to one: a message whose only field has the entries.
 */
export type FieldType = string;

export type NumberedField = readonly [number: number, type: FieldType];

/** The message of a JSON object. Properties that have no field are not written: the messages cannot say them. */
export interface Fields {
  readonly fields: Readonly<Record<string, NumberedField>>;
  /** The number of the list of properties that begin with `x-`, each as `any`; absent where such names mean nothing. */
  readonly extensions?: number;
  /** The list of all other properties, by name. */
  readonly others?: NumberedField;
}

/** The message of a value of one of several shapes: the field that this one is written to; undefined for none. */
export type Choice = (value: unknown) => NumberedField | undefined;

export const isChoice = (descriptor: Fields | Choice): descriptor is Choice => typeof descriptor === 'function';

/** Numbers within the messages that are alike in both packages. */
export const numbers = { entryName: 1, entryValue: 2, mapEntries: 1, anyYaml: 2 } as const;

/** A property of a value that may be no object. */
export const property = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);

/** Fields whose numbers follow each other, from `first` on. */
export function numbered(first: number, ...fields: readonly (readonly [string, FieldType])[]): Fields['fields'] {
  return Object.fromEntries(fields.map(([name, type], index) => [name, [first + index, type]]));
}
