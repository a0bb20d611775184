import { isRecord } from '../../../schema/own-property.ts';

/**
 * Maps the JSON of an OpenAPI document to the protobuf messages that clients use: those of gnostic, packages `openapi.v2`
 * and `openapi.v3`. There a map is a list of messages with a name and a value, a value of several possible types is a
 * message with a field for each, and a value without a fixed type is YAML text.
 */
export type Descriptors = Readonly<Record<string, Fields | Choice>>;

/**
 * `string`, `bool`, `double`, `int64`, `any` (YAML text) or a message name. `T[]`: a list; a value that is not a list is
 * written as its only element. `T{}`: a map, as a message whose only field has the entries.
 */
export type FieldType = string;

export type NumberedField = readonly [number: number, type: FieldType];

/** The message of a JSON object. Properties without a field are omitted, because the message cannot express them. */
export interface Fields {
  readonly fields: Readonly<Record<string, NumberedField>>;
  /** Field number of the list of `x-` properties, each as `any`; absent if the message has no extensions. */
  readonly extensions?: number;
  /** The list of all other properties, by name. */
  readonly others?: NumberedField;
}

/** The message of a value of several possible types: returns the field for this value; undefined if none. */
export type Choice = (value: unknown) => NumberedField | undefined;

export const isChoice = (descriptor: Fields | Choice): descriptor is Choice => typeof descriptor === 'function';

/** Field numbers that are the same in both packages. */
export const numbers = { entryName: 1, entryValue: 2, mapEntries: 1, anyYaml: 2 } as const;

/** A property of a value; undefined if the value is not an object. */
export const property = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);

/** Fields with consecutive numbers, starting at `first`. */
export function numbered(first: number, ...fields: readonly (readonly [string, FieldType])[]): Fields['fields'] {
  return Object.fromEntries(fields.map(([name, type], index) => [name, [first + index, type]]));
}
