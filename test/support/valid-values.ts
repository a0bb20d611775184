import fc from 'fast-check';
import { setOwn } from '../../src/schema/own-property.ts';

/** The parts of a JSON schema by which values are made. */
export interface JsonSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly required?: readonly string[];
  /** One of several properties is there. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

type Fields = Record<string, unknown>;

const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const mapKeys = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'a.b/c'));

const anything = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, text, fc.integer(), fc.boolean(), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: objectOf(fc.array(fc.tuple(mapKeys, tie('value')), { maxLength: 3 })),
}));

function objectOf(entries: fc.Arbitrary<readonly (readonly [string, unknown])[]>): fc.Arbitrary<Fields> {
  return entries.map((pairs) => {
    const fields: Fields = {};
    for (const [name, value] of pairs) setOwn(fields, name, value);
    return fields;
  });
}

/** Values that a schema takes as far as it speaks of each for itself: rules are not looked at. */
export function validValues(schema: JsonSchema): fc.Arbitrary<unknown> {
  return schema.nullable ? fc.option(presentValues(schema)) : presentValues(schema);
}

function presentValues(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.integer(), text);
  switch (schema.type) {
    case 'string':
      return strings(schema);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integers(schema);
    case 'number':
      return integers(schema).map((count) => count * (schema.multipleOf ?? 1));
    case 'array':
      return lists(schema);
    case 'object':
      return objects(schema);
    default:
      return anything.value;
  }
}

const byFormat: Readonly<Record<string, readonly string[]>> = {
  'date-time': ['2030-01-02T03:04:05Z', '1999-12-31T23:59:59.5+01:00'],
  byte: ['YQ==', '/+8='],
  cidr: ['10.0.0.0/8', 'fd00::/64'],
};

function strings({ format, pattern, minLength = 0, maxLength = Infinity }: JsonSchema): fc.Arbitrary<string> {
  if (format !== undefined) return fc.constantFrom(...(byFormat[format] ?? []));
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 8) });
  return fc.stringMatching(new RegExp(pattern)).filter(({ length }) => length >= minLength && length <= maxLength);
}

function integers({ format, minimum, maximum, exclusiveMinimum }: JsonSchema): fc.Arbitrary<number> {
  const bound = format === 'int32' ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER / 2;
  const min = minimum === undefined ? -bound : Math.ceil(minimum) + (exclusiveMinimum ? 1 : 0);
  return fc.integer({ min: Math.trunc(min), max: Math.trunc(maximum ?? bound) });
}

function lists(schema: JsonSchema): fc.Arbitrary<unknown[]> {
  const items = validValues(schema.items ?? {});
  const size = {
    minLength: schema.minItems ?? 0,
    maxLength: Math.min(schema.maxItems ?? Infinity, (schema.minItems ?? 0) + 2),
  };
  const keys = schema['x-kubernetes-list-map-keys'];
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return fc.uniqueArray(items, {
        ...size,
        selector: (item) => JSON.stringify(keys?.map((key) => Object(item)[key])),
      });
    case 'set':
      return fc.uniqueArray(items, { ...size, selector: (item) => JSON.stringify(item) });
    default:
      return fc.array(items, size);
  }
}

function objects(schema: JsonSchema): fc.Arbitrary<Fields> {
  const { properties = {}, additionalProperties, required = [], oneOf } = schema;
  if (additionalProperties) {
    return objectOf(fc.array(fc.tuple(mapKeys, validValues(additionalProperties)), { maxLength: 3 }));
  }
  if (oneOf) {
    const names = oneOf.flatMap((alternative) => alternative.required);
    const { oneOf: _, ...rest } = schema;
    return fc.oneof(
      ...oneOf.map((alternative) => {
        const kept = Object.entries(properties).filter(
          ([name]) => !names.includes(name) || alternative.required.includes(name),
        );
        return objects({
          ...rest,
          properties: Object.fromEntries(kept),
          required: [...required, ...alternative.required],
        });
      }),
    );
  }
  const fields = Object.entries(properties).map(([name, property]) => {
    const value = validValues(property).map((each) => [[name, each] as const]);
    return required.includes(name) ? value : fc.oneof(fc.constant([]), value);
  });
  const unknown = schema['x-kubernetes-preserve-unknown-fields']
    ? fc.array(
        fc.tuple(
          text.map((name) => `own ${name}`),
          anything.value,
        ),
        { maxLength: 2 },
      )
    : fc.constant([]);
  const embedded = schema['x-kubernetes-embedded-resource']
    ? [
        ['apiVersion', 'own.example.com/v1'] as const,
        ['kind', 'Own'] as const,
        ['metadata', { name: 'own', labels: { a: 'b' } }] as const,
      ]
    : [];
  return objectOf(
    fc.tuple(fc.tuple(...fields), unknown).map(([known, more]) => [...known.flat(), ...more, ...embedded]),
  );
}
