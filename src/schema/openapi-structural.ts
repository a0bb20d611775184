import type { Steps } from '../base/time/in-slices.ts';
import type { Constraint } from './constraint.ts';
import { type AnySchema, type ListSchema, type MapSchema, type Schema, type StructSchema, schemaOf } from './schema.ts';

type Json = Record<string, unknown>;

interface Document {
  readonly version: 2 | 3;
  /** The name of an extension: `list-type` -> `x-<vendor>-list-type`. */
  readonly extension: (name: string) => string;
  /** Describes a part that is not of the structural schema: metadata, apiVersion and kind. */
  readonly describe: (schema: Schema) => Json;
}

/**
 * The OpenAPI of a structural schema, as published servers write it: nearly what the definition says. In version 2, whose
 * readers cannot deal with values of several types, nothing is said of those, nor of objects that keep unknown fields. There is
 * a pause now and then for whoever iterates.
 */
export const structuralOpenapi = (schema: Schema, document: Document): Steps<Json> => new Writer(document).node(schema);

/** Schemas that are described between two pauses. */
const schemasPerStep = 64;

class Writer {
  readonly #document: Document;
  #described = 0;

  constructor(document: Document) {
    this.#document = document;
  }

  /** `initial` is the default of the value, `beside` the description of a field that has it. */
  *node(schema: Schema, initial?: unknown, beside?: string): Steps<Json> {
    if (++this.#described % schemasPerStep === 0) yield;
    if (!schema.structural) return this.#document.describe(schema);
    const { title, description = beside, givenType, nullable, rules } = schema;
    const isV3 = this.#document.version === 3;
    return {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(isV3 || !nullable ? yield* this.#typed(schema) : {}),
      ...this.#constraint(schema),
      ...(givenType && this.#extension(givenType === 'atomic' ? 'list-type' : 'map-type', givenType)),
      ...(isV3 && nullable && { nullable }),
      ...(initial !== undefined && { default: initial }),
      ...(rules && this.#extension('validations', rules)),
    };
  }

  #extension(name: string, value: unknown): Json {
    return { [this.#document.extension(name)]: value };
  }

  *#typed(schema: Schema): Steps<Json> {
    switch (schema.type) {
      case 'intOrString':
        return this.#extension('int-or-string', true);
      case 'any':
        return yield* this.#any(schema);
      case 'list':
        return { ...(yield* this.#list(schema)), type: 'array' };
      case 'map':
        return { ...(yield* this.#map(schema)), type: 'object' };
      case 'struct':
        return yield* this.#struct(schema);
      default:
        return { type: schema.type };
    }
  }

  *#any({ of, object, list }: AnySchema): Steps<Json> {
    const preserve = of === 'value' ? this.#extension('preserve-unknown-fields', true) : {};
    if (this.#document.version === 2) return preserve;
    return {
      ...(object?.type === 'map' && (yield* this.#map(object))),
      ...(object?.type === 'struct' && (yield* this.#fields(object))),
      ...(list && (yield* this.#list(list))),
      ...preserve,
    };
  }

  *#list({ items, itemDefault, listType, mapKeys }: ListSchema): Steps<Json> {
    return {
      items: yield* this.node(items, itemDefault),
      ...(listType !== 'atomic' && this.#extension('list-type', listType)),
      ...(mapKeys && this.#extension('list-map-keys', mapKeys)),
    };
  }

  *#map({ values, valueDefault, mapType }: MapSchema): Steps<Json> {
    return {
      additionalProperties: isBare(values) || (yield* this.node(values, valueDefault)),
      ...(mapType === 'atomic' && this.#extension('map-type', mapType)),
    };
  }

  *#struct(struct: StructSchema): Steps<Json> {
    const isHidden = this.#document.version === 2 && struct.additional === 'preserve';
    return {
      ...(!isHidden && { type: 'object', ...(yield* this.#fields(struct)) }),
      ...(struct.additional === 'preserve' && this.#extension('preserve-unknown-fields', true)),
      ...(struct.embedded && this.#extension('embedded-resource', true)),
      ...(struct.structType === 'atomic' && this.#extension('map-type', 'atomic')),
    };
  }

  *#fields({ fields, additional }: StructSchema): Steps<Json> {
    const properties: (readonly [name: string, described: Json])[] = [];
    for (const [name, field] of Object.entries(fields)) {
      properties.push([name, yield* this.node(schemaOf(field), field.default, field.description)]);
    }
    return {
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(typeof additional === 'object' && {
        additionalProperties: isBare(additional) || (yield* this.node(additional)),
      }),
    };
  }

  #constraint(schema: Schema): Json {
    const { type, constraint = {} } = schema;
    if (this.#document.version === 3) return type === 'intOrString' ? withTypes(constraint) : { ...constraint };
    const { oneOf, anyOf, not, allOf, required = [], ...rest } = constraint;
    const needed = required.filter((name) => !isNullable(schema, name));
    return { ...rest, ...(needed.length > 0 && { required: needed }) };
  }
}

const isBare = (schema: Schema): boolean => schema.type === 'any' && schema.of === 'bare';

const types = [{ type: 'integer' }, { type: 'string' }];

/** An integer or string says so with alternatives, too, for readers that do not know the extension. */
const withTypes = (constraint: Constraint): Json =>
  constraint.anyOf
    ? { ...constraint, allOf: [{ anyOf: types }, ...(constraint.allOf ?? [])] }
    : { ...constraint, anyOf: types };

function isNullable(schema: Schema, name: string): boolean {
  if (schema.type === 'map') return schema.values.nullable === true;
  const field = schema.type === 'struct' && Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  return field !== undefined && schemaOf(field).nullable === true;
}
