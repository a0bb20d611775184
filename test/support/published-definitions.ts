import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Dialect } from '../../src/dialect/dialect.ts';
import { mergePatch } from '../../src/patch/merge-patch.ts';

/** Definitions in the shapes that projects publish, one per file of `definitions/`, each with objects that fit and that do not. */

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Readonly<Record<string, unknown>> };
}

interface DefinitionSpec {
  readonly group: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly names: { readonly plural: string; readonly singular: string; readonly kind: string };
  readonly versions: readonly Version[];
}

/** A merge patch that is refused, and the field that the refusal names. */
interface Refused {
  readonly merge: object;
  readonly field: string;
}

/** Refused with this text. */
interface BrokenRule extends Refused {
  readonly text: string;
}

export interface PublishedDefinition {
  /** The name of its file. */
  readonly topic: string;
  readonly spec: DefinitionSpec;
  /** An object that is valid, without apiVersion, kind and metadata. */
  readonly sample: object;
  /** The status that its controller would write. */
  readonly status: object;
  /** A merge patch that the object takes. */
  readonly change: object;
  /** Makes the sample invalid. */
  readonly wrong: Refused;
  /** Make the sample break rules. */
  readonly broken?: readonly BrokenRule[];
  /** Refused by rules of transition. */
  readonly refusedChanges?: readonly BrokenRule[];
  readonly columns: readonly string[];
  readonly wide: readonly string[];
}

const folder = new URL('./definitions/', import.meta.url);

export const publishedDefinitions: readonly PublishedDefinition[] = readdirSync(folder)
  .sort()
  .map((file) => ({ topic: file.replace('.yaml', ''), ...parse(readFileSync(new URL(file, folder), 'utf8')) }));

export const definitionName = ({ spec }: PublishedDefinition): string => `${spec.names.plural}.${spec.group}`;

/** The version in which objects are stored. */
const storedVersion = ({ spec }: PublishedDefinition): Version => {
  const stored = spec.versions.find(({ storage }) => storage);
  if (!stored) throw new Error(`${spec.names.kind} has no version that is stored`);
  return stored;
};

export const definitionManifest = (definition: PublishedDefinition, dialect: Dialect) => ({
  apiVersion: `${dialect.group('apiextensions')}/v1`,
  kind: 'CustomResourceDefinition',
  metadata: { name: definitionName(definition) },
  spec: definition.spec,
});

/** The sample in the stored version, merged with a patch. */
export const sampleManifest = (definition: PublishedDefinition, name: string, merge: object = {}) => {
  const { group, names } = definition.spec;
  return {
    apiVersion: `${group}/${storedVersion(definition).name}`,
    kind: names.kind,
    metadata: { name },
    ...Object(mergePatch(definition.sample, merge)),
  };
};
