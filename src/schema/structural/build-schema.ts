import { allAtOnce, type Steps } from '../../base/time/in-slices.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import type { Constraint, Rule } from '../constraint.ts';
import { decodeValue } from '../decode.ts';
import { setOwn } from '../own-property.ts';
import {
  type Assertions,
  type Field,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StructSchema,
  schemaOf,
} from '../schema.ts';
import { constraintOf } from './constraint-of.ts';
import { embeddedMetadata } from './embedded-metadata.ts';
import {
  additionalOf,
  anyTextOf,
  asSchema,
  hasSchemas,
  isTrue,
  type JsonSchema,
  memberOf,
  namedSchemaIn,
  namedSchemasIn,
  schemaIn,
  textOf,
  textsOf,
} from './json-schema.ts';
import type { SchemaParts } from './schema-pool.ts';

/**
 * What is kept of titles and descriptions, for documents. Parts with descriptions are not shared, so that kinds have those of
 * `fields` only, beside the schemas.
 */
export type Descriptions = 'all' | 'fields' | 'none';

interface BuildOptions {
  readonly objectMeta: StructSchema;
  readonly pool: SchemaParts;
  readonly descriptions: Descriptions;
  /** Called with each part that has parts, after those. */
  readonly onPart?: ((part: Schema) => void) | undefined;
}

/** Builds the schema of a version. The JSON must have no errors; other input does not throw, but means little. */
export const buildSchema = (schema: JsonSchema, options: BuildOptions): StructSchema =>
  allAtOnce(buildSchemaInSteps(schema, options));

/** The same, with a pause now and then for whoever iterates. */
export const buildSchemaInSteps = (schema: JsonSchema, options: BuildOptions): Steps<StructSchema> =>
  new Builder(options).root(schema);

/** The rules of a schema; undefined if it has none. */
function rulesIn(json: JsonSchema): { readonly rules: readonly Rule[] } | undefined {
  const rules = memberOf(json, schemaExtensions.validations);
  return Array.isArray(rules) && rules.length > 0 ? { rules } : undefined;
}

/** Schemas that are built between two pauses. */
const schemasPerStep = 64;

/** What a schema inherits from those around it. */
interface Inherited {
  /** Within a list that keeps unknown fields, and so do its items. */
  readonly preserved: boolean;
}

const nothing: Inherited = { preserved: false };

class Builder {
  readonly #options: BuildOptions;

  #built = 0;

  constructor(options: BuildOptions) {
    this.#options = options;
  }

  *root(schema: JsonSchema): Steps<StructSchema> {
    const { objectMeta } = this.#options;
    const { metadata, kind, apiVersion } = asSchema(memberOf(schema, 'properties'));
    const fields: [string, Field][] = [
      ['apiVersion', this.#typeField(asSchema(apiVersion))],
      ['kind', this.#typeField(asSchema(kind))],
      ['metadata', { schema: this.#restricted(objectMeta, asSchema(metadata)), required: false, presence: 'always' }],
    ];
    const description = this.#descriptionOf(schema);
    return {
      ...(yield* this.#struct(schema, fields, nothing)),
      ...this.#assertions(schema),
      ...(description !== undefined && { description }),
    };
  }

  /** `apiVersion` or `kind` of an object. Its type is checked when the object is decoded. */
  #typeField(json: JsonSchema | undefined = {}): Field {
    const constraint = constraintOf(json);
    return this.#field({ type: 'string', ...(constraint && { constraint }), ...rulesIn(json) });
  }

  /** The metadata of an object with what the schema says of its name. */
  #restricted(objectMeta: StructSchema, schema: JsonSchema): StructSchema {
    const constraints: [string, Constraint][] = [];
    const ruled: [string, Field][] = [];
    for (const [name, each] of namedSchemasIn(schema, 'properties')) {
      const [constraint, rules] = [constraintOf(each), rulesIn(each)];
      const field = Object.hasOwn(objectMeta.fields, name) ? objectMeta.fields[name] : undefined;
      if (constraint) constraints.push([name, constraint]);
      if (rules && field) ruled.push([name, { ...field, schema: { ...schemaOf(field), ...rules } }]);
    }
    if (constraints.length + ruled.length === 0) return objectMeta;
    return {
      ...objectMeta,
      ...(constraints.length > 0 && { constraint: { properties: Object.fromEntries(constraints) } }),
      ...(ruled.length > 0 && { fields: { ...objectMeta.fields, ...Object.fromEntries(ruled) } }),
    };
  }

  /** The description beside a schema. */
  #descriptionOf(json: JsonSchema): string | undefined {
    return this.#options.descriptions === 'fields' ? textOf(json, 'description') : undefined;
  }

  #field(schema: Schema, initial?: unknown, description?: string): Field {
    return this.#options.pool.field({
      schema,
      required: false,
      presence: 'explicit',
      ...(description !== undefined && { description }),
      ...(initial !== undefined && { default: initial }),
    });
  }

  *#schema(json: JsonSchema, inherited: Inherited): Steps<Schema> {
    if (++this.#built % schemasPerStep === 0) yield;
    const plain = this.#options.descriptions === 'all' ? undefined : plainScalar(json);
    if (plain) return plain;
    const { pool, onPart } = this.#options;
    const scalar = this.#scalar(json);
    if (scalar) return pool.schema({ ...scalar, ...this.#assertions(json) });
    const part = pool.schema({ ...(yield* this.#container(json, inherited)), ...this.#assertions(json) });
    onPart?.(part);
    return part;
  }

  #scalar(json: JsonSchema): Schema | undefined {
    if (isTrue(json, schemaExtensions.intOrString)) return { type: 'intOrString', format: 'int64' };
    switch (textOf(json, 'type')) {
      case 'string':
        return { type: 'string' };
      case 'integer':
        return { type: 'integer', format: 'int64' };
      case 'number':
        return { type: 'number' };
      case 'boolean':
        return { type: 'boolean' };
      default:
        return undefined;
    }
  }

  *#container(json: JsonSchema, inherited: Inherited): Steps<Schema> {
    switch (textOf(json, 'type')) {
      case 'array':
        return yield* this.#list(json, inherited);
      case 'object':
        return yield* this.#object(json, inherited);
      default:
        return yield* this.#untyped(json, inherited);
    }
  }

  /** Null, constraints and rules of a schema. */
  #assertions(json: JsonSchema): Assertions {
    const descriptions = this.#options.descriptions === 'all';
    const [title, description] = descriptions ? [textOf(json, 'title'), textOf(json, 'description')] : [];
    const givenType = descriptions ? givenTypeOf(json) : undefined;
    const constraint = constraintOf(json, isTrue(json, schemaExtensions.intOrString) ? 'intOrString' : undefined);
    return {
      structural: true,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(givenType && { givenType }),
      ...(isTrue(json, 'nullable') && { nullable: true }),
      ...(constraint && { constraint: this.#options.pool.constraint(constraint) }),
      ...rulesIn(json),
    };
  }

  /** Any value, if unknown fields are kept; objects and arrays by what the schema says of them. */
  *#untyped(json: JsonSchema, inherited: Inherited): Steps<Schema> {
    const preserved = inherited.preserved || isTrue(json, schemaExtensions.preserveUnknownFields);
    const hasFields = hasSchemas(json, 'properties') || additionalOf(json) !== undefined;
    const object = hasFields ? yield* this.#object(json, { preserved }) : undefined;
    const list = schemaIn(json, 'items') && (yield* this.#list(json, { preserved }));
    return {
      type: 'any',
      of: preserved ? 'value' : 'bare',
      ...(object && { object: { ...object, structural: true } }),
      ...(list && { list: { ...list, structural: true } }),
    };
  }

  *#list(json: JsonSchema, inherited: Inherited): Steps<ListSchema> {
    const items = schemaIn(json, 'items') ?? {};
    const preserved = inherited.preserved || isTrue(json, schemaExtensions.preserveUnknownFields);
    const schema = yield* this.#schema(items, { preserved });
    const initial = this.#default(items, schema);
    return {
      type: 'list',
      items: schema,
      ...listTypeOf(json, schema),
      ...(initial !== undefined && { itemDefault: initial }),
    };
  }

  *#object(json: JsonSchema, inherited: Inherited): Steps<StructSchema | MapSchema> {
    const additional = additionalOf(json);
    const preserved = inherited.preserved || isTrue(json, schemaExtensions.preserveUnknownFields);
    const embedded = isTrue(json, schemaExtensions.embeddedResource);
    if (additional !== undefined && !embedded && !hasSchemas(json, 'properties'))
      return yield* this.#map(json, additional);
    const given = embedded ? yield* this.#embeddedFields(json) : [];
    const struct = yield* this.#struct(json, given, { preserved });
    return embedded ? { ...struct, embedded } : struct;
  }

  *#map(json: JsonSchema, additional: JsonSchema | boolean): Steps<MapSchema> {
    const values: Schema = typeof additional === 'boolean' ? bare : yield* this.#schema(additional, nothing);
    const initial = typeof additional === 'boolean' ? undefined : this.#default(additional, values);
    return {
      type: 'map',
      values,
      mapType: mapTypeOf(json),
      ...(initial !== undefined && { valueDefault: initial }),
    };
  }

  /** `apiVersion`, `kind` and `metadata` of an embedded object, which its schema may restrict. */
  *#embeddedFields(json: JsonSchema): Steps<[string, Field][]> {
    const { objectMeta } = this.#options;
    const metadata = namedSchemaIn(json, 'properties', 'metadata');
    const schema = embeddedMetadata(objectMeta, metadata && (yield* this.#schema(metadata, nothing)));
    return [
      ['apiVersion', this.#typeField(namedSchemaIn(json, 'properties', 'apiVersion'))],
      ['kind', this.#typeField(namedSchemaIn(json, 'properties', 'kind'))],
      ['metadata', this.#field(schema)],
    ];
  }

  /** The declared fields, after those given, which replace declared ones of the same name. */
  *#struct(json: JsonSchema, given: readonly [string, Field][], inherited: Inherited): Steps<StructSchema> {
    const fields: Record<string, Field> = {};
    for (const [name, field] of given) fields[name] = field;
    const properties = asSchema(memberOf(json, 'properties'));
    for (const name of Object.keys(properties)) {
      if (given.length > 0 && Object.hasOwn(fields, name)) continue;
      const property = asSchema(properties[name]);
      const schema = yield* this.#schema(property, nothing);
      setOwn(fields, name, this.#field(schema, this.#default(property, schema), this.#descriptionOf(property)));
    }
    const additional = yield* this.#additional(
      json,
      inherited.preserved || isTrue(json, schemaExtensions.preserveUnknownFields),
    );
    return {
      type: 'struct',
      name: '',
      fields,
      structType: mapTypeOf(json),
      ...(additional && { additional }),
    };
  }

  *#additional(json: JsonSchema, preserved: boolean): Steps<StructSchema['additional']> {
    const additional = additionalOf(json);
    if (typeof additional === 'object') return yield* this.#schema(additional, nothing);
    if (additional !== undefined) return bare;
    return preserved ? 'preserve' : undefined;
  }

  /** The default of a schema without unknown fields; undefined if there is none. */
  #default(json: JsonSchema, schema: Schema): unknown {
    const value = memberOf(json, 'default');
    return typeof value === 'object' ? decodeValue(schema, value).value : value;
  }
}

/** The scalars of which a schema says nothing but the type: most schemas. */
const plainScalars: ReadonlyMap<unknown, Schema> = new Map<unknown, Schema>([
  ['string', { type: 'string', structural: true }],
  ['integer', { type: 'integer', format: 'int64', structural: true }],
  ['number', { type: 'number', structural: true }],
  ['boolean', { type: 'boolean', structural: true }],
]);

function plainScalar(json: JsonSchema): Schema | undefined {
  for (const keyword in json) if (!plainKeywords.has(keyword)) return undefined;
  return plainScalars.get(json['type']);
}

const plainKeywords: ReadonlySet<string> = new Set(['type', 'description', 'title']);

/** Values of `additionalProperties: true`: nothing is said of their fields. */
const bare: Schema = { type: 'any', of: 'bare', structural: true };

function listTypeOf(json: JsonSchema, items: Schema): Pick<ListSchema, 'listType' | 'mapKeys'> {
  const type = anyTextOf(json, schemaExtensions.listType);
  if (type !== 'map') return { listType: type === 'set' ? 'set' : 'atomic' };
  const mapKeys = textsOf(json, schemaExtensions.listMapKeys) ?? [];
  // Else the schema was never checked.
  const hasKeys = items.type === 'struct' && mapKeys.every((key) => Object.hasOwn(items.fields, key));
  return hasKeys && mapKeys.length > 0 ? { listType: 'map', mapKeys } : { listType: 'atomic' };
}

function givenTypeOf(json: JsonSchema): Assertions['givenType'] {
  if (anyTextOf(json, schemaExtensions.listType) === 'atomic') return 'atomic';
  return anyTextOf(json, schemaExtensions.mapType) === 'granular' ? 'granular' : undefined;
}

const mapTypeOf = (json: JsonSchema): 'atomic' | 'granular' =>
  anyTextOf(json, schemaExtensions.mapType) === 'atomic' ? 'atomic' : 'granular';
