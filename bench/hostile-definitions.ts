/** Definitions of custom resources that are as costly as the limits allow, or more. */

type Json = Readonly<Record<string, unknown>>;

export interface HostileDefinition {
  readonly what: string;
  readonly plural: string;
  readonly versions: readonly Json[];
  /** It has more than is allowed. */
  readonly isRefused?: true;
  /** An object of its kind, without apiVersion, kind and name. */
  readonly object: Json;
}

export const hostileGroup = 'hostile.bench.example.com';

const text = { type: 'string' };
const described = { type: 'string', description: 'x'.repeat(60), maxLength: 1_000 };

function fields(count: number, field: Json): Json {
  const properties: Record<string, Json> = {};
  for (let at = 0; at < count; at++) properties[`field${at}`] = field;
  return { type: 'object', properties };
}

const version = (name: string, schema: Json, storage = true): Json => ({
  ...{ name, served: true, storage },
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: schema } } },
});

/** Fields with a field each, so deep. */
function deep(depth: number): Json {
  let schema: Json = text;
  for (let at = 0; at < depth; at++) schema = { type: 'object', properties: { down: schema } };
  return schema;
}

const one = { spec: { field0: 'x' } };

/** In the order in which they are made. */
export const hostileDefinitions = (): readonly HostileDefinition[] => [
  { what: '9,000 fields', plural: 'flats', versions: [version('v1', fields(9_000, described))], object: one },
  {
    what: '24,000 fields',
    plural: 'manies',
    versions: [version('v1', fields(24_000, text))],
    object: one,
  },
  {
    what: '3 MB',
    plural: 'larges',
    versions: [version('v1', fields(9_000, { ...text, description: 'x'.repeat(280) }))],
    object: one,
  },
  { what: 'a depth of 25', plural: 'deeps', versions: [version('v1', deep(25))], object: { spec: { down: {} } } },
  {
    ...{ what: '100,000 fields', plural: 'floods', isRefused: true },
    versions: [version('v1', fields(100_000, text))],
    object: one,
  },
  {
    what: '90 versions of 300 fields',
    plural: 'versioneds',
    versions: Array.from({ length: 90 }, (_, at) =>
      version(`v${at + 1}`, fields(300, { ...text, maxLength: at + 1 }), at === 0),
    ),
    object: one,
  },
  {
    what: '2,000 rules',
    plural: 'ruleds',
    versions: [
      version('v1', {
        ...fields(40, {
          ...{ type: 'string', maxLength: 10 },
          'x-kubernetes-validations': Array.from({ length: 50 }, (_, at) => ({ rule: `self != 'forbidden-${at}'` })),
        }),
      }),
    ],
    object: { spec: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`field${at}`, 'x'])) },
  },
  {
    what: 'enums of 24,000 values',
    plural: 'enumerateds',
    versions: [
      version('v1', {
        type: 'object',
        properties: { field0: { ...text, enum: Array.from({ length: 24_000 }, (_, at) => `value-${at}`) } },
      }),
    ],
    object: { spec: { field0: 'value-23999' } },
  },
  {
    what: 'a default of 5,000 values',
    plural: 'defaulteds',
    versions: [
      version('v1', {
        type: 'object',
        properties: {
          field0: {
            ...{ type: 'array', items: { type: 'object', properties: { a: text } } },
            default: Array.from({ length: 2_400 }, () => ({ a: 'x'.repeat(20) })),
          },
        },
      }),
    ],
    object: { spec: {} },
  },
  {
    what: 'long patterns',
    plural: 'patterneds',
    versions: [
      version(
        'v1',
        Object.fromEntries([
          ['type', 'object'],
          [
            'properties',
            Object.fromEntries(
              Array.from({ length: 8 }, (_, at) => [
                `field${at}`,
                { ...text, pattern: `^(${'[a-y]|'.repeat(500)}[a-z]{${at + 10}})*$` },
              ]),
            ),
          ],
        ]),
      ),
    ],
    object: { spec: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`field${at}`, 'y'.repeat(1_500)])) },
  },
];

export function definitionBody(
  { plural, versions }: HostileDefinition,
  { apiVersion, description }: { readonly apiVersion: string; readonly description?: string },
): Json {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  const [first = {}, ...others] = versions;
  const changed =
    description === undefined ? first : { ...first, schema: withField(first['schema'] as Json, description) };
  return {
    ...{ apiVersion, kind: 'CustomResourceDefinition', metadata: { name: `${plural}.${hostileGroup}` } },
    spec: {
      ...{ group: hostileGroup, scope: 'Namespaced', versions: [changed, ...others] },
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    },
  };
}

function withField({ openAPIV3Schema }: Json, name: string): Json {
  const { properties, ...rest } = openAPIV3Schema as { readonly properties: Json };
  return { openAPIV3Schema: { ...rest, properties: { ...properties, [name]: text } } };
}
