import { allAtOnce, type Steps } from '../base/time/in-slices.ts';
import type { Constraint } from './constraint.ts';
import { nestedSchemas } from './nested-schemas.ts';
import { structuralOpenapi } from './openapi-structural.ts';
import {
  type DocumentedUnion,
  type Field,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StringSchema,
  type StructSchema,
  schemaOf,
} from './schema.ts';

interface OpenapiOptions {
  /** Structs to describe, with all nested schemas. */
  readonly roots: Iterable<StructSchema>;
  /** More of them, each made when it is its turn and not kept. */
  readonly later?: Iterable<LaterStruct>;
  /** Names that get no prefix. */
  readonly whole?: ReadonlySet<string>;
  readonly version: 2 | 3;
  /** Prefix of every definition name, without the trailing dot. */
  readonly prefix: string;
  /** The vendor part of extensions: `<extension>` in `x-<extension>-list-type`. */
  readonly extension: string;
  /** The kinds whose schema a struct is, for its `group-version-kind` extension. */
  readonly kinds?: ReadonlyMap<StructSchema, readonly OpenapiKind[]>;
}

/**
 * A struct that is not there yet. It replaces a root of its name; named structs that are nested in it must be nested in
 * roots.
 */
export interface LaterStruct {
  readonly name: string;
  readonly kinds: readonly OpenapiKind[];
  /** What the document has of it, if that is known: then it is not made. */
  readonly known?: unknown;
  /** Makes the struct, with a pause now and then for whoever iterates. */
  make(): Steps<StructSchema>;
}

interface OpenapiKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

type Json = Record<string, unknown>;

/**
 * The schemas of an OpenAPI document, sorted by full name: `components.schemas` of version 3, `definitions` of version 2.
 * As in the documents of kube-apiserver, version 3 alone has defaults, wraps a `$ref` with sibling keywords in `allOf`,
 * and uses `oneOf` for values of two types.
 *
 * Ranges, lengths and string formats are omitted on purpose: clients that cache the document would keep enforcing them
 * after the server has changed.
 */
export const openapiSchemas = (options: OpenapiOptions): Json =>
  Object.fromEntries([...openapiSchemaEntries(options)].filter((entry) => entry !== undefined));

/** The same, made one by one. Undefined is a pause within one. */
export function* openapiSchemaEntries(options: OpenapiOptions): Generator<SchemaEntry | undefined, void> {
  const emitter = new Emitter(options);
  const seen = new Set<Schema>();
  for (const root of options.roots) {
    for (const schema of nestedSchemas(root, seen)) emitter.add(schema);
    yield undefined;
  }
  for (const struct of options.later ?? []) emitter.addLater(struct);
  yield* emitter.schemas();
}

export type SchemaEntry = readonly [fullName: string, schema: unknown];

class Emitter {
  readonly #options: OpenapiOptions;
  /** By full name. */
  readonly #schemas = new Map<string, Schema>();
  readonly #later = new Map<string, LaterStruct>();
  /** Of the struct that was made last. */
  #madeOf: readonly [StructSchema, readonly OpenapiKind[]] | undefined;

  constructor(options: OpenapiOptions) {
    this.#options = options;
  }

  *schemas(): Generator<SchemaEntry | undefined, void> {
    const names = new Set([...this.#schemas.keys(), ...this.#later.keys()]);
    for (const fullName of [...names].sort()) {
      const later = this.#later.get(fullName);
      if (later?.known !== undefined) {
        yield [fullName, later.known];
        continue;
      }
      const schema = later ? yield* this.#made(later) : this.#schemas.get(fullName);
      if (schema) yield [fullName, yield* pausing(this.#definition(schema))];
    }
  }

  *#made({ kinds, make }: LaterStruct): Generator<undefined, StructSchema> {
    const struct = yield* pausing(make());
    this.#madeOf = [struct, kinds];
    return struct;
  }

  *#definition(schema: Schema): Steps<Json> {
    if (schema.structural) return yield* this.#structural(schema);
    return schema.type === 'struct' ? this.#struct(schema) : this.#special(schema);
  }

  *#structural(schema: Schema): Steps<Json> {
    const { version, extension } = this.#options;
    const kinds = schema.type === 'struct' ? this.#kindsOf(schema) : undefined;
    const hidesFields = version === 2 && kinds && schema.type === 'struct' && schema.additional === 'preserve';
    const described: Json = hidesFields
      ? { type: 'object' }
      : yield* structuralOpenapi(schema, {
          version,
          extension: (name) => `x-${extension}-${name}`,
          describe: (part) => this.#plain(part),
        });
    return { ...described, ...this.#extensions({ 'group-version-kind': kinds }) };
  }

  /** A part of an object that each object has, without what its schema says of it. */
  #plain(schema: Schema): Json {
    const value = this.#value(schema);
    return '$ref' in value && this.#options.version === 3 ? { allOf: [value] } : value;
  }

  #kindsOf(struct: StructSchema): readonly OpenapiKind[] | undefined {
    const [made, itsKinds] = this.#madeOf ?? [];
    const all = struct === made ? itsKinds : this.#options.kinds?.get(struct);
    const kinds = all?.map(({ group, version, kind }) => ({ group, kind, version }));
    return kinds && kinds.length > 0 ? kinds : undefined;
  }

  /** Adds a schema that has a definition name; others are described inline. */
  add(schema: Schema): void {
    const name = nameOf(schema);
    if (name === undefined || this.#schemas.has(this.#fullName(name))) return;
    this.#schemas.set(this.#fullName(name), schema);
  }

  addLater(struct: LaterStruct): void {
    this.#later.set(this.#fullName(struct.name), struct);
  }

  #fullName(name: string): string {
    return this.#options.whole?.has(name) ? name : `${this.#options.prefix}.${name}`;
  }

  #struct(struct: StructSchema): Json {
    const fields = Object.entries(struct.fields);
    const required = fields.filter(([, field]) => isRequired(field)).map(([name]) => name);
    const properties = Object.fromEntries(fields.map(([name, field]) => [name, this.#field(field)]));
    return {
      ...(struct.description !== undefined && { description: struct.description }),
      type: 'object',
      ...(fields.length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(typeof struct.additional === 'object' && { additionalProperties: this.#whole(struct.additional) }),
      ...this.#extensions({
        'preserve-unknown-fields': struct.additional === 'preserve' || undefined,
        'embedded-resource': struct.embedded || undefined,
        'group-version-kind': this.#kindsOf(struct),
        'map-type': struct.structType === 'atomic' ? 'atomic' : undefined,
        unions: struct.documentedUnion && [unionOf(struct.documentedUnion)],
      }),
    };
  }

  #field(field: Field): Json {
    const schema = schemaOf(field);
    const value = this.#whole(schema);
    const v3 = this.#options.version === 3;
    const initial = field.default ?? initialOf(field, schema);
    return {
      ...(field.description !== undefined && { description: field.description }),
      ...(v3 && '$ref' in value ? { allOf: [value] } : value),
      ...(v3 && initial !== undefined && { default: initial }),
      ...(v3 && field.deprecated && { deprecated: true }),
      ...this.#extensions({ 'patch-strategy': field.patchStrategy, 'map-type': field.structType }),
    };
  }

  /** A value of a list or map. As in the documents of kube-apiserver, the default of null is the zero value. */
  #part(schema: Schema): Json {
    const value = this.#whole(schema);
    const isOurs = !schema.structural && !schema.nullable;
    const zero = this.#options.version === 3 && isOurs ? zeroOf(schema) : undefined;
    if (zero === undefined) return value;
    return { ...('$ref' in value ? { allOf: [value] } : value), default: zero };
  }

  /** A value with its assertions: nullable, constraint, CEL rules. */
  #whole(schema: Schema): Json {
    if (schema.structural && nameOf(schema) === undefined) return allAtOnce(this.#structural(schema));
    const { nullable, constraint, rules } = schema;
    const value = this.#value(schema);
    if (!nullable && !constraint && !rules) return value;
    return {
      ...('$ref' in value && this.#options.version === 3 ? { allOf: [value] } : value),
      ...(constraint && this.#constraint(constraint)),
      ...(nullable && this.#options.version === 3 && { nullable }),
      ...this.#extensions({ validations: rules }),
    };
  }

  /** OpenAPI version 2 has no `oneOf`, `anyOf` and `not`; `allOf` is omitted with them. */
  #constraint(constraint: Constraint): Json {
    if (this.#options.version === 3) return { ...constraint };
    const { oneOf, anyOf, not, allOf, ...rest } = constraint;
    return rest;
  }

  #value(schema: Schema): Json {
    const name = nameOf(schema);
    if (name !== undefined) {
      const place = this.#options.version === 3 ? 'components/schemas' : 'definitions';
      return { $ref: `#/${place}/${this.#fullName(name)}` };
    }
    switch (schema.type) {
      case 'string':
        return this.#string(schema);
      case 'integer':
        return { type: 'integer', format: schema.format };
      case 'number':
        return { type: 'number', format: 'double' };
      case 'boolean':
        return { type: 'boolean' };
      case 'bytes':
        return { type: 'string', format: 'byte' };
      case 'map':
        return this.#map(schema);
      case 'list':
        return this.#list(schema);
      case 'any':
        return schema.of === 'object' ? { type: 'object' } : {};
      case 'struct':
        return this.#struct(schema);
      default:
        return {};
    }
  }

  #string({ enum: checked, enumUndocumented, documentedEnum }: StringSchema): Json {
    const values = enumUndocumented ? undefined : (checked ?? documentedEnum);
    return { type: 'string', ...(values && { enum: [...values].sort() }) };
  }

  #map({ values, mapType }: MapSchema): Json {
    return {
      type: 'object',
      additionalProperties: this.#part(values),
      ...this.#extensions({ 'map-type': mapType === 'atomic' ? 'atomic' : undefined }),
    };
  }

  #list({ items, listType, mapKeys, typeUndocumented, patchStrategy, patchMergeKey }: ListSchema): Json {
    return {
      type: 'array',
      items: this.#part(items),
      ...this.#extensions({
        'list-type': typeUndocumented ? undefined : listType,
        'list-map-keys': listType === 'map' ? mapKeys : undefined,
        'patch-strategy': patchStrategy,
        'patch-merge-key': patchMergeKey,
      }),
    };
  }

  #special(schema: Schema): Json {
    const v3 = this.#options.version === 3;
    switch (schema.type) {
      case 'time':
        return { description: 'A time in RFC 3339 form.', type: 'string', format: 'date-time' };
      case 'any':
        return {
          description: schema.of === 'object' ? 'Any JSON object.' : 'Any JSON value.',
          ...((schema.of === 'object' || schema.documentedAs) && { type: 'object' }),
        };
      case 'quantity':
        return {
          description: 'An exact number with a unit, such as 500m, 2Gi or 1e3.',
          ...(v3 ? { oneOf: [{ type: 'string' }, { type: 'number' }] } : { type: 'string' }),
        };
      default:
        return {
          description: 'An integer or a string.',
          ...(v3 ? { oneOf: [{ type: 'integer' }, { type: 'string' }] } : { type: 'string' }),
          format: 'int-or-string',
        };
    }
  }

  /** The vendor extensions that have a value. */
  #extensions(values: Readonly<Record<string, unknown>>): Json {
    const present = Object.entries(values).filter(([, value]) => value !== undefined);
    return Object.fromEntries(present.map(([name, value]) => [`x-${this.#options.extension}-${name}`, value]));
  }
}

/** The steps of something within a list of entries: undefined is a pause there. */
function* pausing<T>(steps: Steps<T>): Generator<undefined, T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    yield undefined;
  }
}

/** The definition name of a schema; undefined if it is described inline. */
function nameOf(schema: Schema): string | undefined {
  switch (schema.type) {
    case 'struct':
      return schema.name === '' ? undefined : schema.name;
    case 'any':
      return schema.name;
    case 'time':
      return `apimachinery.pkg.apis.meta.v1.${schema.precision === 'micro' ? 'MicroTime' : 'Time'}`;
    case 'quantity':
      return 'apimachinery.pkg.api.resource.Quantity';
    case 'intOrString':
      return schema.structural ? undefined : 'apimachinery.pkg.util.intstr.IntOrString';
    default:
      return undefined;
  }
}

const unionOf = ({ discriminator, fields }: DocumentedUnion): Json => ({
  discriminator,
  'fields-to-discriminateBy': Object.fromEntries(
    fields.map((name) => [name, name.charAt(0).toUpperCase() + name.slice(1)]),
  ),
});

/** The default of a field that names none: what is written of it if it is absent. */
function initialOf(field: Field, schema: Schema): unknown {
  const isWritten = schema.type === 'struct' ? field.presence === 'always' : isRequired(field);
  return isWritten ? zeroOf(schema) : undefined;
}

/** The zero value of structs, strings, numbers and flags, which documents name. */
function zeroOf({ type }: Schema): unknown {
  switch (type) {
    case 'struct':
      return {};
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    default:
      return undefined;
  }
}

/** As in the documents of kube-apiserver, scalars that are always written are also listed as required. */
function isRequired(field: Field): boolean {
  if (field.documented) return field.documented === 'required';
  if (field.required || field.presence !== 'always') return field.required;
  return ['string', 'bytes', 'integer', 'number', 'boolean'].includes(schemaOf(field).type);
}
