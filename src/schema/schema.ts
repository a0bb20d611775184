import type { StringFormat } from '../meta/formats.ts';
import type { Constraint, Rule } from './constraint.ts';
import type { Dependency, Freeze, Immutable, Union, Unique } from './markers.ts';

/**
 * The schema language. One schema per kind drives decoding, pruning, defaulting, validation, patch and apply merges,
 * managedFields, protobuf, OpenAPI and tables; the kind's static type is inferred from it. Schemas are immutable data.
 * Functions compiled from a schema are cached in a WeakMap by its identity.
 *
 * Presence follows the Go types of the Kubernetes API, because clients see the difference:
 * - `implicit` (Go: `omitempty`): the field is omitted if it holds the zero value of its type ('' 0 false [] {}).
 * - `explicit` (Go: a pointer): the zero value is kept.
 * - `always` (Go: no `omitempty`): the field is written even if the client omitted it, with the zero value of its type:
 *   {} for a struct, null for a time, '' 0 or false for a scalar. The OpenAPI of kube-apiserver lists such scalars as
 *   required, and so does ours, but omitting one is not an error.
 * `required: true` means that an object without the field is rejected.
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

/** Options of every schema type. Mostly used by custom resources. */
export interface Assertions {
  /** Distinguishes null from absent. Default: null means absent. */
  readonly nullable?: boolean;
  /** Value validation of a structural schema, with the error messages of custom resources. */
  readonly constraint?: Constraint;
  /** CEL validation rules. */
  readonly rules?: readonly Rule[];
  /**
   * Part of a structural schema. `decode` keeps values of another type, and `validate` reports them (422), as it does for
   * custom resources. null is dropped from a map and kept in a list, unless it is allowed or there is a default.
   */
  readonly structural?: true;
  /** Title and description of a structural schema, while a document is made. */
  readonly title?: string;
  readonly description?: string;
  /** The same: a list type `atomic`, or a map type `granular`, that is given although it is the default. */
  readonly givenType?: 'atomic' | 'granular';
}

export interface StringSchema extends Assertions {
  readonly type: 'string';
  /** Allowed values; any other is an "Unsupported value" error. */
  readonly enum?: readonly string[];
  /** Errors name the allowed values in their order. Default: sorted. */
  readonly enumOrder?: 'given';
  /** OpenAPI documents do not name the allowed values: the published type of the field is no enumeration. */
  readonly enumUndocumented?: true;
  /** Values that OpenAPI documents name, of a field whose kind validates it with texts of its own. */
  readonly documentedEnum?: readonly string[];
  /** The name of a check in `formats.ts`. */
  readonly format?: StringFormat;
  /** Bytes of UTF-8. */
  readonly lengthMax?: number;
  /** Characters. Not needed to reject '' in a required field: `required` does so. */
  readonly lengthMin?: number;
}

export interface IntegerSchema extends Assertions {
  readonly type: 'integer';
  readonly format: 'int32' | 'int64';
  readonly minimum?: number;
  readonly maximum?: number;
  /** What an error says of a number out of the range. Default: the range. */
  readonly rangeText?: string;
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

/** RFC 3339 text in UTC with whole seconds (metav1.Time) or microseconds (`micro`: MicroTime of Lease and Event). */
interface TimeSchema extends Assertions {
  readonly type: 'time';
  readonly precision: 'second' | 'micro';
}

/** `100m`, `2Gi`: stored in canonical form. JSON numbers are accepted and converted to text. */
interface QuantitySchema extends Assertions {
  readonly type: 'quantity';
}

interface IntOrStringSchema extends Assertions {
  readonly type: 'intOrString';
  /** Range of the integer. Default: int32. */
  readonly format?: 'int64';
}

/** Keys are any strings. `granular`: server-side apply tracks ownership per key (spec section 4.7). */
export interface MapSchema<V extends Schema = Schema> extends Assertions {
  readonly type: 'map';
  readonly values: V;
  /** JSON value that replaces a null value. */
  readonly valueDefault?: unknown;
  readonly mapType: 'granular' | 'atomic';
  /** Format of each key. */
  readonly keyFormat?: StringFormat;
}

export interface ListSchema<I extends Schema = Schema> extends Assertions {
  readonly type: 'list';
  readonly items: I;
  /** JSON value that replaces a null item. */
  readonly itemDefault?: unknown;
  /** Merge type for server-side apply (spec section 4.7). Elements of `map` lists are matched by `mapKeys`. */
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys?: readonly string[];
  /** OpenAPI documents do not name the merge type: the published type has none, and is merged by the default. */
  readonly typeUndocumented?: true;
  /** For strategic merge patch. `merge` matches elements by `patchMergeKey`, or merges scalars as a set. */
  readonly patchStrategy?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys';
  readonly patchMergeKey?: string;
  /**
   * Accepts duplicate elements (`set`) or duplicate keys (`map`), as kube-apiserver does for most lists of built-in kinds.
   * Default: duplicates are an error.
   */
  readonly duplicatesAllowed?: boolean;
  /** Uniqueness rule that replaces the one implied by `listType`. */
  readonly unique?: Unique;
  readonly itemsMin?: number;
  readonly itemsMax?: number;
}

export type Fields = Readonly<Record<string, Field>>;

export interface StructSchema<F extends Fields = Fields> extends Assertions {
  readonly type: 'struct';
  /**
   * OpenAPI definition name without the product prefix: `api.core.v1.PodSpec`,
   * `apimachinery.pkg.apis.meta.v1.ObjectMeta`. '': no definition; OpenAPI describes the struct inline.
   */
  readonly name: string;
  readonly fields: F;
  /**
   * Handling of fields not in `fields`: `preserve` keeps them unchanged, a schema decodes their values.
   * Default: unknown fields are pruned and reported.
   */
  readonly additional?: 'preserve' | Schema;
  /** An embedded API object (`x-kubernetes-embedded-resource`): requires a valid `apiVersion` and `kind`. */
  readonly embedded?: boolean;
  /** `atomic`: server-side apply owns and replaces the struct as a whole (spec section 4.7). */
  readonly structType: 'granular' | 'atomic';
  readonly union?: Union;
  /** OpenAPI documents say that the value of one field tells which of others is set: its name in CamelCase. */
  readonly documentedUnion?: DocumentedUnion;
  readonly freeze?: Freeze;
  /** `labels`: a label selector, whose `matchLabels` and `matchExpressions` are validated. */
  readonly selects?: 'labels';
  /** Fields that are checked before the others, in this order. Default: all in the order of the schema. */
  readonly checkedFirst?: readonly string[];
}

export interface DocumentedUnion {
  readonly discriminator: string;
  readonly fields: readonly string[];
}

/** Any JSON value, kept unchanged: RawExtension, FieldsV1, custom resources without a schema. */
export interface AnySchema extends Assertions {
  readonly type: 'any';
  /** Name in OpenAPI documents. Default: described inline. */
  readonly name?: string;
  /** Documents call the named value an object although it may be any. */
  readonly documentedAs?: 'object';
  /** `object`: only JSON objects. `bare`: any value, but all fields of objects in it are unknown. */
  readonly of: 'object' | 'value' | 'bare';
  /** Owned as a whole in server-side apply. Default: the fields of objects have owners of their own. */
  readonly mapType?: 'atomic';
  /** Schema of the values that are JSON objects. Default: they are kept unchanged. */
  readonly object?: StructSchema | MapSchema;
  /** Schema of the values that are arrays. Default: they are kept unchanged. */
  readonly list?: ListSchema;
  /**
   * The value has one of these types; protobuf has a message with a field for each. Default: any type, and a message with the
   * JSON text.
   */
  readonly variants?: readonly Variant[];
}

/** One of the forms of a value, told by its JSON type; the last one that a message has counts. */
export interface Variant {
  /** Protobuf field number. */
  readonly number: number;
  readonly schema: BooleanSchema | ListSchema | StructSchema | (() => ListSchema | StructSchema);
  /** Value of the field beside another variant. Default: it is absent then. */
  readonly beside?: boolean;
}

export interface Field<S extends Schema = Schema, R extends boolean = boolean> {
  /**
   * Protobuf field number. Absent or 0: not in the message. True of custom resources, and of `apiVersion` and `kind`, which
   * the envelope carries (spec section 4.3).
   */
  readonly number?: number;
  /** For a field inline in JSON: protobuf numbers of the messages that enclose it in protobuf, outermost first. */
  readonly within?: readonly number[];
  /** The schema, or a function that returns it, for recursive types. */
  readonly schema: S | (() => S);
  readonly description?: string;
  readonly required: R;
  readonly presence: 'implicit' | 'explicit' | 'always';
  /** What OpenAPI says of the field. Default: by `required`, presence and type. */
  readonly documented?: 'required' | 'optional';
  /** Default: the JSON value set if the field is absent. */
  readonly default?: unknown;
  /** true: may not change once set. `always`: may not change, or be set, once the struct that holds it exists. */
  readonly immutable?: true | 'always' | Immutable;
  /** Required if any of these fields is set. */
  readonly requiredWith?: Dependency;
  /** Forbidden unless one of these fields is set. */
  readonly onlyWith?: Dependency;
  readonly deprecated?: boolean;
  /** Feature gate; while it is off, the field is dropped on write (`feature-gates.ts`). */
  readonly gate?: string;
  /**
   * What a gate that is off does in the place of dropping the field: it gets that value, or the whole item of a list that has
   * it goes, with those that refer to it (`refersTo`).
   */
  readonly whileOff?: 'itemGoes' | { readonly becomes: unknown };
  /** Fields below are kept although their gates are off: the kind that holds them does not look at those. */
  readonly keepsGatedFields?: true;
  /** The value is not checked unless another field of the struct is valid (or absent), or has that value. */
  readonly checkedWhile?: { readonly valid: string } | { readonly field: string; readonly is: string };
  /** Of a field with presence `always`: '' and 0 are checked as other values are. Default: they count as absent. */
  readonly checkedEmpty?: true;
  /** The value is not checked: the published kind leaves it to whoever uses it. */
  readonly unchecked?: true;
  /** The value is the `name` of an item of that struct in the same object. */
  readonly refersTo?: string;
  /** `replace`/`retainKeys` for struct fields in strategic merge patches. */
  readonly patchStrategy?: 'replace' | 'retainKeys';
  /** The parts of a struct that is atomic elsewhere have owners of their own here. */
  readonly structType?: 'granular';
}

type FieldOptions = Partial<
  Pick<
    Field,
    | 'default'
    | 'immutable'
    | 'requiredWith'
    | 'onlyWith'
    | 'deprecated'
    | 'gate'
    | 'whileOff'
    | 'keepsGatedFields'
    | 'checkedWhile'
    | 'checkedEmpty'
    | 'unchecked'
    | 'refersTo'
    | 'patchStrategy'
    | 'documented'
    | 'structType'
  >
>;

type PresenceOption = Partial<Pick<Field, 'presence'>>;

/** Declares a field. `opt`, `ptr` and `always` fix the presence; only `req` takes it as an option. */
type FieldBuilder<R extends boolean, O = FieldOptions> = <const S extends Schema>(
  number: number,
  schema: S | (() => S),
  description: string,
  options?: O,
) => Field<S, R>;

const fieldBuilder =
  <const R extends boolean>(required: R, presence: Field['presence']): FieldBuilder<R, FieldOptions & PresenceOption> =>
  (number, schema, description, options) => ({ number, schema, description, required, presence, ...options });

/*
 * A struct declares one field per line: protobuf number, schema, description, options. The names of the builders follow
 * the Go declaration of the field.
 */

/** Go: a value with `omitempty`. Omitted if it holds the zero value of its type. */
export const opt: FieldBuilder<false> = fieldBuilder(false, 'implicit');
/** Go: a pointer with `omitempty`. The zero value is kept. */
export const ptr: FieldBuilder<false> = fieldBuilder(false, 'explicit');
/** Go: a value without `omitempty`. Written even if the client omitted it. */
export const always: FieldBuilder<false> = fieldBuilder(false, 'always');
/** An object without the field is invalid. */
export const req: FieldBuilder<true, FieldOptions & PresenceOption> = fieldBuilder(true, 'explicit');

/**
 * The fields of a struct that is embedded in another one (Go: `json:",inline"`), to be spread into its fields. JSON has
 * them inline; protobuf has them in a message with field number `number`.
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
/** A string with a fixed set of values. */
export const enumOf = <const E extends readonly string[]>(...values: E): StringSchema & { readonly enum: E } => ({
  type: 'string',
  enum: values,
});
/** The same, where errors name the values in the order given. */
export const enumInOrder = <const E extends readonly string[]>(...values: E): StringSchema & { readonly enum: E } => ({
  ...enumOf(...values),
  enumOrder: 'given',
});
/** A string with a fixed set of values, of which documents say nothing. */
export const undocumentedEnum = <const E extends readonly string[]>(
  ...values: E
): StringSchema & { readonly enum: E } => ({
  ...enumOf(...values),
  enumUndocumented: true,
});
/** A string of which documents name the values; the kind validates it. */
export const documentedEnum = (...values: readonly string[]): StringSchema => ({ ...string(), documentedEnum: values });
export const int32 = (options: Pick<IntegerSchema, 'minimum' | 'maximum' | 'rangeText'> = {}): IntegerSchema => ({
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
export const anyValue = (options: Pick<AnySchema, 'name' | 'documentedAs' | 'mapType'> = {}): AnySchema => ({
  type: 'any',
  of: 'value',
  ...options,
});
/** A value of one of several JSON types. */
export const oneOf = (...variants: readonly Variant[]): AnySchema => ({ type: 'any', of: 'value', variants });
export const anyObject = (options: Pick<AnySchema, 'name' | 'mapType'> = {}): AnySchema => ({
  type: 'any',
  of: 'object',
  ...options,
});

export const map = <V extends Schema>(
  values: V,
  options: Partial<Pick<MapSchema, 'mapType' | 'keyFormat'>> = {},
): MapSchema<V> => ({ type: 'map', values, mapType: 'granular', ...options });

/** A list; `atomic` unless `listType`, a patch merge key or patch strategy `merge` is given (spec section 4.7). */
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

/** A list merged by a key field in strategic merge patch and in server-side apply. */
export const mergeList = <I extends Schema>(
  patchMergeKey: string,
  items: I,
  options: Partial<Omit<ListSchema, 'type' | 'items' | 'patchMergeKey'>> = {},
): ListSchema<I> => list(items, { patchStrategy: 'merge', patchMergeKey, ...options });

export const struct = <const F extends Fields>(
  name: string,
  description: string,
  fields: F,
  options: Partial<
    Pick<StructSchema, 'structType' | 'union' | 'documentedUnion' | 'freeze' | 'selects' | 'checkedFirst'>
  > = {},
): StructSchema<F> => ({ type: 'struct', name, description, fields, structType: 'granular', ...options });

/** True if values of the schema have no parts. */
export const isScalar = ({ type }: Schema): boolean => !containers.has(type);

const containers: ReadonlySet<Schema['type']> = new Set(['struct', 'list', 'map', 'any']);

/** The schema of a field; resolves the function of recursive types. */
export const schemaOf = (field: Field): Schema => (typeof field.schema === 'function' ? field.schema() : field.schema);

type SchemaOf<F> = F extends { readonly schema: infer S } ? (S extends () => infer T ? T : S) : never;
type RequiredKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly required: true } ? K : never;
}[keyof F];

/** The static type of decoded values of a schema. */
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
                  ? Record<string, unknown> // any struct: its fields are not known statically
                  : { [K in RequiredKeys<F>]: Infer<SchemaOf<F[K]>> } & {
                      [K in Exclude<keyof F, RequiredKeys<F>>]?: Infer<SchemaOf<F[K]>>;
                    }
                : unknown;
