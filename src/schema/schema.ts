import type { Constraint, Rule } from './constraint.ts';
import type { Dependency, Freeze, Immutable, Union, Unique } from './markers.ts';

/**
 * The schema language. One schema per kind drives decoding, pruning, defaulting, validation, merges, ownership sets,
 * protobuf, OpenAPI and tables; a kind's static type is inferred from it. Schemas are data: immutable, comparable by
 * identity, so that what is compiled from one is kept in a WeakMap.
 *
 * Presence follows the published types, since clients see the difference: `implicit` fields are dropped when they hold
 * the zero value of their type ('' 0 false [] {}), `explicit` ones keep it (a pointer in the published types), `always`
 * ones are there even when the client left them out, with the zero value of their type: a struct by value ({}), a time
 * by value (null), or a scalar that the published types always write ('' 0 false). OpenAPI lists such a scalar as
 * required, as published, yet leaving it out or empty is no error; `required: true` is for what is refused when missing.
 */
export type Schema =
  | StringSchema
  | IntegerSchema
  | NumberSchema
  | BooleanSchema
  | BytesSchema
  | TimeSchema
  | QuantitySchema
  | IntOrStringSchema
  | MapSchema
  | ListSchema
  | StructSchema
  | AnySchema;

/** What a schema of any type may say beside it. Few of the built-in ones do. */
interface Assertions {
  /** null is a value of its own. Elsewhere it is the same as absent. */
  readonly nullable?: boolean;
  /** Value validation with the texts of custom resources. */
  readonly constraint?: Constraint;
  readonly rules?: readonly Rule[];
}

export interface StringSchema extends Assertions {
  readonly type: 'string';
  /** A closed list; anything else is "Unsupported value". */
  readonly enum?: readonly string[];
  /** The name of a check in `formats.ts`. */
  readonly format?: StringFormat;
  readonly lengthMax?: number;
  /** Characters; 1 makes an empty value of a required field an error, which `required` implies already. */
  readonly lengthMin?: number;
}

export type StringFormat =
  | 'dnsLabel'
  | 'dnsSubdomain'
  | 'dns1035Label'
  | 'qualifiedName'
  | 'labelValue'
  | 'pathSegment'
  | 'ip'
  | 'cidr'
  | 'uuid';

export interface IntegerSchema extends Assertions {
  readonly type: 'integer';
  readonly format: 'int32' | 'int64';
  readonly minimum?: number;
  readonly maximum?: number;
}

interface NumberSchema extends Assertions {
  readonly type: 'number';
}

interface BooleanSchema extends Assertions {
  readonly type: 'boolean';
}

/** Base64 text in JSON and YAML (spec section 2.1). */
interface BytesSchema extends Assertions {
  readonly type: 'bytes';
}

/** RFC 3339 text: whole seconds in UTC, or microseconds (`precision: 'micro'`, as Lease and Event carry). */
interface TimeSchema extends Assertions {
  readonly type: 'time';
  readonly precision: 'second' | 'micro';
}

/** `100m`, `2Gi`: kept in its canonical form. JSON numbers are accepted and become text. */
interface QuantitySchema extends Assertions {
  readonly type: 'quantity';
}

interface IntOrStringSchema extends Assertions {
  readonly type: 'intOrString';
  /** Of the integer: int32 unless said otherwise. */
  readonly format?: 'int64';
}

/** Keys are any strings. `granular`: each key has an owner of its own (spec section 4.7). */
export interface MapSchema<V extends Schema = Schema> extends Assertions {
  readonly type: 'map';
  readonly values: V;
  readonly mapType: 'granular' | 'atomic';
  /** The check that each key must pass. */
  readonly keyFormat?: StringFormat;
  /** How paths of errors write keys: in brackets, or as fields (`dotted`), as those of custom resources do. */
  readonly keyPaths?: 'dotted';
}

export interface ListSchema<I extends Schema = Schema> extends Assertions {
  readonly type: 'list';
  readonly items: I;
  /** For apply (spec section 4.7). `map` lists are merged on `mapKeys`. */
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys?: readonly string[];
  /** For strategic merge patch: 'merge' joins elements (by `patchMergeKey`, or as a set of scalars). */
  readonly patchStrategy?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys';
  readonly patchMergeKey?: string;
  /**
   * Elements that are the same (`set`) or share their keys (`map`) are kept, as published servers do for most lists of
   * their own kinds; otherwise they are an error.
   */
  readonly duplicatesAllowed?: boolean;
  /** What elements must differ in, in place of what the type of the list says. */
  readonly unique?: Unique;
  readonly itemsMin?: number;
  readonly itemsMax?: number;
}

export type Fields = Readonly<Record<string, Field>>;

export interface StructSchema<F extends Fields = Fields> extends Assertions {
  readonly type: 'struct';
  /**
   * Published name with its group and version, without the product: `api.core.v1.PodSpec`,
   * `apimachinery.pkg.apis.meta.v1.ObjectMeta`. '' has none, and OpenAPI describes it where it is used.
   */
  readonly name: string;
  readonly description?: string;
  readonly fields: F;
  /**
   * What becomes of fields without a schema of their own: `preserve` keeps them as they are, a schema makes them its values.
   * Absent: they are dropped and reported.
   */
  readonly additional?: 'preserve' | Schema;
  /** A whole API object within another: `apiVersion` and `kind` must be there and valid. */
  readonly embedded?: boolean;
  /** `atomic`: owned and replaced whole (spec section 4.7). */
  readonly structType: 'granular' | 'atomic';
  readonly union?: Union;
  readonly freeze?: Freeze;
  /** Its `matchLabels` and `matchExpressions` select by labels. */
  readonly selects?: 'labels';
}

/** Any JSON value, kept as it is: raw extensions, FieldsV1, custom resources without a schema. */
interface AnySchema extends Assertions {
  readonly type: 'any';
  /** `object`: only JSON objects. */
  readonly of: 'object' | 'value';
}

export interface Field<S extends Schema = Schema, R extends boolean = boolean> {
  /**
   * Protobuf field number. Absent or 0 is not in the message: fields of custom resources, and `apiVersion` and `kind`, which
   * stand in the envelope (spec 4.3).
   */
  readonly number?: number;
  /** Protobuf numbers of the messages that hold this field in protobuf while JSON has it inline, outermost first. */
  readonly within?: readonly number[];
  /** A schema, or a function that gives it where types are recursive. */
  readonly schema: S | (() => S);
  readonly description?: string;
  readonly required: R;
  readonly presence: 'implicit' | 'explicit' | 'always';
  /** A JSON value given to an absent field. */
  readonly default?: unknown;
  /** May not change: true once it is set, `always` from the creation of what it stands in. */
  readonly immutable?: true | 'always' | Immutable;
  /** Required where one of these is set. */
  readonly requiredWith?: Dependency;
  /** Forbidden where none of these is set. */
  readonly onlyWith?: Dependency;
  readonly deprecated?: boolean;
  /** The feature without which the field is not written (`feature-gates.ts`). */
  readonly gate?: string;
  /** `replace`/`retainKeys` for struct fields in strategic merge patches. */
  readonly patchStrategy?: 'replace' | 'retainKeys';
}

type FieldOptions = Partial<
  Pick<Field, 'default' | 'immutable' | 'requiredWith' | 'onlyWith' | 'deprecated' | 'gate' | 'patchStrategy'>
>;

type PresenceOption = Partial<Pick<Field, 'presence'>>;

/** How it is to be written stands in the name of what makes it; only required fields say it. */
type FieldMaker<R extends boolean, O = FieldOptions> = <const S extends Schema>(
  number: number,
  schema: S | (() => S),
  description: string,
  options?: O,
) => Field<S, R>;

const made =
  <const R extends boolean>(required: R, presence: Field['presence']): FieldMaker<R, FieldOptions & PresenceOption> =>
  (number, schema, description, options) => ({ number, schema, description, required, presence, ...options });

/*
 * One field a line: its number, its type, its description, and what else there is to say. The names follow the Go types
 * that clients have: a field with `omitempty`, a pointer with it, one without it, and a required one.
 */

/** Dropped when it has the zero value of its type. */
export const opt: FieldMaker<false> = made(false, 'implicit');
/** Kept with the zero value: a pointer. */
export const ptr: FieldMaker<false> = made(false, 'explicit');
/** Written even when the client left it out. */
export const always: FieldMaker<false> = made(false, 'always');
/** An object without it is invalid. */
export const req: FieldMaker<true, FieldOptions & PresenceOption> = made(true, 'explicit');

/**
 * The fields of a struct, to be spread into another: inline in JSON, a message of its own with number `number` in
 * protobuf.
 */
export function inline<F extends Fields>(number: number, struct: StructSchema<F>): F {
  const fields: Record<string, Field> = {};
  for (const [name, field] of Object.entries(struct.fields)) {
    fields[name] = { ...field, within: [number, ...(field.within ?? [])] };
  }
  return fields as F;
}

export const string = <const O extends Omit<StringSchema, 'type'>>(options?: O): StringSchema & O =>
  ({ type: 'string', ...options }) as StringSchema & O;
/** A string of a closed list. */
export const enumOf = <const E extends readonly string[]>(...values: E): StringSchema & { readonly enum: E } => ({
  type: 'string',
  enum: values,
});
export const int32 = (options: Pick<IntegerSchema, 'minimum' | 'maximum'> = {}): IntegerSchema => ({
  type: 'integer',
  format: 'int32',
  ...options,
});
export const int64 = (options: Pick<IntegerSchema, 'minimum' | 'maximum'> = {}): IntegerSchema => ({
  type: 'integer',
  format: 'int64',
  ...options,
});
export const number = (): NumberSchema => ({ type: 'number' });
export const bool = (): BooleanSchema => ({ type: 'boolean' });
export const bytes = (): BytesSchema => ({ type: 'bytes' });
export const time = (): TimeSchema => ({ type: 'time', precision: 'second' });
export const microTime = (): TimeSchema => ({ type: 'time', precision: 'micro' });
export const quantity = (): QuantitySchema => ({ type: 'quantity' });
export const intOrString = (): IntOrStringSchema => ({ type: 'intOrString' });
export const anyValue = (): AnySchema => ({ type: 'any', of: 'value' });
export const anyObject = (): AnySchema => ({ type: 'any', of: 'object' });

export const map = <V extends Schema>(
  values: V,
  options: Partial<Pick<MapSchema, 'mapType' | 'keyFormat'>> = {},
): MapSchema<V> => ({ type: 'map', values, mapType: 'granular', ...options });

/** An atomic list unless `listType` or a patch merge key say otherwise (spec section 4.7). */
export const list = <I extends Schema>(
  items: I,
  options: Partial<Omit<ListSchema, 'type' | 'items'>> = {},
): ListSchema<I> => ({
  type: 'list',
  items,
  listType: options.patchMergeKey ? 'map' : options.patchStrategy === 'merge' ? 'set' : 'atomic',
  ...(options.patchMergeKey && !options.mapKeys && { mapKeys: [options.patchMergeKey] }),
  ...options,
});

/** A list whose elements are told apart by a field, in strategic merge patches and in apply. */
export const mergeList = <I extends Schema>(
  patchMergeKey: string,
  items: I,
  options: Partial<Omit<ListSchema, 'type' | 'items' | 'patchMergeKey'>> = {},
): ListSchema<I> => list(items, { patchStrategy: 'merge', patchMergeKey, ...options });

export const struct = <const F extends Fields>(
  name: string,
  description: string,
  fields: F,
  options: Partial<Pick<StructSchema, 'structType' | 'union' | 'freeze' | 'selects'>> = {},
): StructSchema<F> => ({ type: 'struct', name, description, fields, structType: 'granular', ...options });

/** The schema of a field, with recursion resolved. */
export const schemaOf = (field: Field): Schema => (typeof field.schema === 'function' ? field.schema() : field.schema);

type SchemaOf<F> = F extends { readonly schema: infer S } ? (S extends () => infer T ? T : S) : never;
type RequiredKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly required: true } ? K : never;
}[keyof F];

/** The static type of the values that a schema describes, after decoding. */
export type Infer<S> = S extends { readonly type: 'string'; readonly enum: readonly (infer E)[] }
  ? E
  : S extends StringSchema | BytesSchema | TimeSchema | QuantitySchema
    ? string
    : S extends IntegerSchema | NumberSchema
      ? number
      : S extends BooleanSchema
        ? boolean
        : S extends IntOrStringSchema
          ? number | string
          : S extends MapSchema<infer V>
            ? Record<string, Infer<V>>
            : S extends ListSchema<infer I>
              ? Infer<I>[]
              : S extends StructSchema<infer F>
                ? string extends keyof F
                  ? Record<string, unknown> // some struct: its fields are not known statically
                  : { [K in RequiredKeys<F>]: Infer<SchemaOf<F[K]>> } & {
                      [K in Exclude<keyof F, RequiredKeys<F>>]?: Infer<SchemaOf<F[K]>>;
                    }
                : unknown;
