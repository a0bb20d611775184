import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { SchemaPool } from '../../schema/structural/schema-pool.ts';
import { structuralProblems } from '../../schema/structural/structural-problems.ts';
import { buildStructuralSchema } from '../../schema/structural/structural-schema.ts';
import type { Definition, DefinitionVersion } from '../apiextensions/custom-resource-definition.ts';
import { LazySchema } from '../lazy-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';

/**
 * The schemas of a definition, all built when one of them is needed first, so that versions share equal parts. Until then
 * the definition itself is not kept, but read again.
 */
export class DefinedSchemas {
  #read: () => Definition;
  #built: ReadonlyMap<string, StructSchema> | undefined;
  readonly #lazy = new Map<string, LazySchema>();

  constructor(read: () => Definition) {
    this.#read = read;
  }

  /** Reads the same specification elsewhere from now on. */
  readFrom(read: () => Definition): void {
    if (!this.#built) this.#read = read;
  }

  of(version: string): LazySchema {
    let schema = this.#lazy.get(version);
    if (!schema) {
      schema = new LazySchema(() => this.#build().get(version) ?? unreadable);
      this.#lazy.set(version, schema);
    }
    return schema;
  }

  #build(): ReadonlyMap<string, StructSchema> {
    if (!this.#built) {
      const pool = new SchemaPool();
      const definition = this.#read();
      const versions = definition.spec?.versions ?? [];
      this.#built = new Map(versions.map((version) => [version.name ?? '', schemaOf(definition, version, pool)]));
      this.#read = () => ({ spec: {} });
    }
    return this.#built;
  }
}

const keepsAll = { type: 'object', [schemaExtensions.preserveUnknownFields]: true };

/** Of a definition that was written without being checked: nothing of its objects is lost. */
const unreadable: StructSchema = buildStructuralSchema(keepsAll, { objectMeta });

function schemaOf(definition: Definition, version: DefinitionVersion, pool: SchemaPool): StructSchema {
  const json = version.schema?.openAPIV3Schema ?? {};
  const isReadable = structuralProblems(json, '').length === 0;
  const built = isReadable ? buildStructuralSchema(json, { objectMeta, pool, descriptions: 'fields' }) : unreadable;
  return { ...built, name: documentedName(definition, version) };
}

/** Name in OpenAPI documents, as published: `com.example.v1.Widget`. */
function documentedName({ spec = {}, status }: Definition, version: DefinitionVersion): string {
  const kind = status?.acceptedNames?.kind ?? spec.names?.kind;
  return [...(spec.group ?? '').split('.').reverse(), version.name, kind].join('.');
}
