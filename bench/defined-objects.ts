import type { GeneratedDefinition } from './definitions.ts';

type Json = Readonly<Record<string, unknown>>;

interface Property {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Property>>;
  readonly items?: Property;
  readonly additionalProperties?: Property;
}

/** Items of each list, and entries of each map. */
const members = 2;

/** What a client sends to create an object. `version` makes one state differ from another. */
export type MakeObject = (name: string, version?: string) => Json;

/** Objects of the definition that have every field but those of their status. */
export function definedObjects({ spec, group, kind }: GeneratedDefinition): MakeObject {
  const [{ schema }] = spec.versions;
  const { spec: fields = {} } = (schema.openAPIV3Schema as Property).properties ?? {};
  const values = valueFor(fields, 0) as Json;
  return (name, version = 'a') => ({
    ...{ kind, apiVersion: `${group}/v1`, metadata: { name, namespace: 'default' } },
    spec: { ...values, version },
  });
}

/** A value that the schema allows. `index` tells the items of a list apart. */
function valueFor(property: Property, index: number): unknown {
  const { type, properties = {}, items = {}, additionalProperties } = property;
  switch (type) {
    case 'object':
      if (additionalProperties) return entriesOf(additionalProperties);
      return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valueFor(each, index)]));
    case 'array':
      return Array.from({ length: members }, (_, at) => valueFor(items, at));
    case 'integer':
      return (property.minimum ?? 0) + index;
    case 'boolean':
      return true;
    case 'string':
      return property.enum?.[0] ?? (property.format === 'date-time' ? '2026-01-01T00:00:00Z' : `some text ${index}`);
    default:
      return '80%';
  }
}

const entriesOf = (value: Property): Json =>
  Object.fromEntries(Array.from({ length: members }, (_, at) => [`key-${at}`, valueFor(value, at)]));

/** Pods of about so many bytes, as clients send them: of containers with many variables. */
export function pods(bytes: number): MakeObject {
  const env = entriesOfBytes(bytes - 350, (at) => ({ name: `SETTING_${at}`, value: 'some value' }));
  const spec = {
    nodeName: 'some-node',
    containers: [{ name: 'main', image: 'registry.example/app:1', env, resources: { requests: { cpu: '100m' } } }],
    serviceAccountName: 'default',
  };
  return (name, version = 'a') => ({
    ...{ kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace: 'default', labels: { version } } },
    spec,
  });
}

/** ConfigMaps of about so many bytes, of many small values. */
export function configMaps(bytes: number): MakeObject {
  const values = entriesOfBytes(bytes - 150, (at) => [`someFieldOfIts${at}`, 'some text 0'] as const);
  const data = Object.fromEntries(values);
  return (name, version = 'a') => ({
    ...{ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace: 'default' } },
    data: { ...data, version },
  });
}

function entriesOfBytes<T>(bytes: number, entry: (at: number) => T): readonly T[] {
  const entries: T[] = [];
  for (let left = bytes; left > 0; left -= JSON.stringify(entries.at(-1)).length + 1)
    entries.push(entry(entries.length));
  return entries;
}
