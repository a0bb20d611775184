import { sizes } from './scale.ts';

/** Custom resource definitions in the form and size of real ones, each with fields and texts of its own. */

export interface GeneratedDefinition {
  readonly name: string;
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly spec: {
    readonly names: Json;
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Json } }];
  };
}

type Json = Readonly<Record<string, unknown>>;

/** Fields of most definitions, and of the large ones, which contain templates of Pods. */
const usualFields = 200;
const largeFields = 1_200;
/** One definition in so many is large. */
const largeEvery = 20;
const fieldsPerObject = 12;
const rulesPerDefinition = 10;

/** The definition of that number: always the same one. */
export function generatedDefinition(index: number): GeneratedDefinition {
  const kind = `Generated${index}`;
  const plural = kind.toLowerCase().concat('s');
  const group = `group-${index % sizes.definitionGroups}.bench.example.com`;
  const version = {
    ...{ name: 'v1', served: true, storage: true },
    schema: { openAPIV3Schema: rootSchema(index) },
    subresources: { status: {} },
    additionalPrinterColumns: [
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  };
  const names = { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames: [`g${index}`] };
  const spec = { group, scope: 'Namespaced', names, versions: [version] as const, conversion: { strategy: 'None' } };
  return { name: `${plural}.${group}`, group, plural, kind, spec };
}

/** Where its objects in the default namespace are. */
export const objectsOf = ({ group, plural }: GeneratedDefinition): string =>
  `/apis/${group}/v1/namespaces/default/${plural}`;

/** The same as a server stores it that has established it. */
export function storedDefinition({ name, spec }: GeneratedDefinition, index: number): Buffer {
  const { names } = spec;
  const at = '2026-01-01T00:00:00Z';
  const condition = (type: string, reason: string, message: string) => ({
    ...{ type, status: 'True', lastTransitionTime: at, reason, message },
  });
  return Buffer.from(
    JSON.stringify({
      kind: 'CustomResourceDefinition',
      apiVersion: 'apiextensions.orch.io/v1',
      metadata: {
        name,
        uid: `00000000-0000-4000-8001-${index.toString(16).padStart(12, '0')}`,
        generation: 1,
        creationTimestamp: at,
      },
      spec,
      status: {
        conditions: [
          condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
          condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
        ],
        acceptedNames: names,
        storedVersions: ['v1'],
      },
    }),
  );
}

function rootSchema(index: number): Json {
  const large = index % largeEvery === largeEvery - 1;
  const words = new Words(index);
  const validations = Array.from({ length: rulesPerDefinition }, (_, at) => ({
    rule: at % 2 === 0 ? `self.replicas >= ${-at}` : `!has(self.version) || self.version != 'forbidden-${at}'`,
    message: words.sentence(8),
  }));
  const spec = {
    type: 'object',
    description: words.sentence(20),
    required: ['replicas'],
    'x-kubernetes-validations': validations,
    properties: { ...commonFields(words), ...fields(words, large ? largeFields : usualFields) },
  };
  return {
    type: 'object',
    description: words.sentence(40),
    properties: {
      apiVersion: { type: 'string', description: words.sentence(30) },
      kind: { type: 'string', description: words.sentence(30) },
      metadata: { type: 'object' },
      spec,
      status: { type: 'object', description: words.sentence(20), properties: { conditions: conditions(words) } },
    },
  };
}

function commonFields(words: Words): Json {
  const text = { type: 'string', description: words.sentence(20), maxLength: 1_000 };
  return {
    replicas: { type: 'integer', format: 'int32', minimum: 0, default: 1, description: words.sentence(20) },
    version: text,
    ports: {
      type: 'array',
      maxItems: 32,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        required: ['port'],
        properties: {
          port: { type: 'integer', minimum: 1, maximum: 65_535 },
          protocol: { type: 'string', enum: ['TCP', 'UDP'], default: 'TCP' },
          name: text,
        },
      },
    },
    settings: { type: 'object', additionalProperties: { type: 'string' }, description: words.sentence(20) },
    selector: {
      type: 'object',
      'x-kubernetes-map-type': 'atomic',
      properties: { matchLabels: { type: 'object', additionalProperties: { type: 'string' } } },
    },
  };
}

function conditions(words: Words): Json {
  const text = (maxLength: number, pattern?: string) => ({
    ...{ type: 'string', maxLength, description: words.sentence(25) },
    ...(pattern !== undefined && { pattern }),
  });
  return {
    type: 'array',
    description: words.sentence(20),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
    items: {
      type: 'object',
      required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
      properties: {
        type: text(
          316,
          '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
        ),
        status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
        lastTransitionTime: { type: 'string', format: 'date-time' },
        observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
        reason: text(1_024, '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'),
        message: text(32_768),
      },
    },
  };
}

/** So many fields, in objects of a few. */
function fields(words: Words, count: number): Json {
  const result: Record<string, Json> = {};
  for (let left = count; left > 0; ) {
    const size = Math.min(fieldsPerObject, left);
    left -= size + 1;
    const properties: Record<string, Json> = {};
    for (let at = 0; at < size; at++) properties[words.name()] = field(words, at);
    result[words.name()] = { type: 'object', description: words.sentence(30), properties };
  }
  return result;
}

function field(words: Words, at: number): Json {
  const description = words.sentence(30);
  switch (at % 6) {
    case 0:
      return { type: 'string', description, minLength: 1, maxLength: 253 };
    case 1:
      return { type: 'integer', format: 'int32', description, minimum: 0, maximum: 1_000 + words.below(1_000) };
    case 2:
      return { type: 'boolean', description };
    case 3:
      return { type: 'array', description, items: { type: 'string' }, maxItems: 16 };
    case 4:
      return { type: 'string', description, enum: [words.name(), words.name(), words.name()] };
    default:
      return { description, 'x-kubernetes-int-or-string': true };
  }
}

const vocabulary = (
  'the of a to is in this for that and when field object value name which are be if it not set by default controller pod ' +
  'container volume service secret reference namespace policy template status condition resource selector label number time ' +
  'seconds network storage class node address port protocol backend route gateway certificate issuer cluster machine'
).split(' ');

/** Pseudo-random text from a seed. */
class Words {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 1) >>> 0;
  }

  below(count: number): number {
    // Numerical Recipes' linear congruential generator; its high bits are good enough for text.
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }

  word(): string {
    return vocabulary[this.below(vocabulary.length)] ?? '';
  }

  sentence(words: number): string {
    return Array.from({ length: words }, () => this.word()).join(' ');
  }

  /** A field name that is unlikely to come twice. */
  name(): string {
    return `${this.word()}${this.word().replace(/^./, (first) => first.toUpperCase())}${this.below(1_000)}`;
  }
}
