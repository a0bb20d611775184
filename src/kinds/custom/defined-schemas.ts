import { contentHash } from '../../base/collections/content-hash.ts';
import { WeakValues } from '../../base/collections/weak-values.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { allAtOnce, inSlices, type Steps } from '../../base/time/in-slices.ts';
import { parseStoredInSteps } from '../../codec/json-steps.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { prepare } from '../../schema/prepare.ts';
import type { Schema, StructSchema } from '../../schema/schema.ts';
import type { Descriptions } from '../../schema/structural/build-schema.ts';
import { type SchemaParts, SchemaPool, separateParts } from '../../schema/structural/schema-pool.ts';
import { structuralProblemsInSteps } from '../../schema/structural/structural-problems.ts';
import { buildStructuralSchema, buildStructuralSchemaInSteps } from '../../schema/structural/structural-schema.ts';
import type { Definition, DefinitionVersion } from '../apiextensions/custom-resource-definition.ts';
import type { LazySchema, SchemaOrigin } from '../lazy-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { type BuiltSchemas, SchemaMemory } from './built-schemas.ts';

interface Built {
  readonly built: ReadonlyMap<string, StructSchema>;
  /** How many different parts they have together. */
  readonly parts: number;
}

/**
 * The schemas of a definition, all built when one of them is needed first, so that versions share equal parts. They
 * are built again after they were not used for long (`SchemaMemory`). The definition itself is not kept, but read again.
 */
export class DefinedSchemas implements BuiltSchemas, SchemaOrigin {
  /** See `LazySchema`. */
  readonly revision: string;
  #bytes: () => Uint8Array;
  #built: ReadonlyMap<string, StructSchema> | undefined;
  /** For `memory`. */
  isUsed = false;
  parts = 0;
  #building: Promise<void> | undefined;
  readonly #lazy = new Map<string, LazySchema>();

  /** `bytes`: the definition as it is stored. */
  constructor(revision: string, bytes: () => Uint8Array) {
    this.revision = revision;
    this.#bytes = bytes;
  }

  /** Reads the same specification elsewhere from now on. */
  readFrom(bytes: () => Uint8Array): void {
    this.#bytes = bytes;
  }

  get bytes(): Uint8Array {
    return this.#bytes();
  }

  of(version: string): LazySchema {
    let schema = this.#lazy.get(version);
    if (!schema) {
      schema = new VersionSchema(this, version);
      this.#lazy.set(version, schema);
    }
    return schema;
  }

  get isBuilt(): boolean {
    return this.#built !== undefined;
  }

  /** Builds them at once. */
  get all(): ReadonlyMap<string, StructSchema> {
    this.isUsed = true;
    return this.#built ?? this.#keep(allAtOnce(build(this.#bytes())));
  }

  ready(clock: Pick<Clock, 'monotonic'>): Promise<void> | undefined {
    this.isUsed = true;
    if (this.#built) return undefined;
    if (this.#building) return this.#building;
    const bytes = this.#bytes();
    // A change of a small definition counts for the next request after it.
    const isSmall = bytes.length <= limits.lightBytesMax;
    const built = isSmall ? allAtOnce(build(bytes)) : inSlices(build(bytes), clock);
    if (!(built instanceof Promise)) {
      this.#keep(built);
      return undefined;
    }
    this.#building = built
      .then((all) => void this.#keep(all))
      .finally(() => {
        this.#building = undefined;
      });
    return this.#building;
  }

  #keep({ built, parts }: Built): ReadonlyMap<string, StructSchema> {
    // Somebody may have needed them at once meanwhile.
    if (!this.#built) {
      this.#built = built;
      this.parts = parts;
      memory.add(this);
    }
    return this.#built;
  }

  drop(): void {
    this.#built = undefined;
  }

  *described(version: string): Steps<StructSchema> {
    const definition = (yield* parseStoredInSteps(this.#bytes())) as Definition;
    const json = definition.spec?.versions?.find(({ name }) => name === version)?.schema?.openAPIV3Schema ?? {};
    return yield* schemaOf(json, { pool: separateParts, descriptions: 'all' });
  }
}

class VersionSchema implements LazySchema {
  readonly version: string;
  readonly #whole: DefinedSchemas;

  constructor(whole: DefinedSchemas, version: string) {
    this.#whole = whole;
    this.version = version;
  }

  get origin(): SchemaOrigin {
    return this.#whole;
  }

  get revision(): string {
    return this.#whole.revision;
  }

  get isBuilt(): boolean {
    return this.#whole.isBuilt;
  }

  described(): Steps<StructSchema> {
    return this.#whole.described(this.version);
  }

  get value(): StructSchema {
    return this.#whole.all.get(this.version) ?? unreadable;
  }

  ready(clock: Pick<Clock, 'monotonic'>): Promise<void> | undefined {
    return this.#whole.ready(clock);
  }
}

const memory = new SchemaMemory();

/** How many parts of schemas this thread keeps. Default: `limits.schemaPartsBuiltMax`. */
export function keepSchemaParts(partsMax: number): void {
  memory.partsMax = partsMax;
}

const keepsAll = { type: 'object', [schemaExtensions.preserveUnknownFields]: true };

/** Of a definition that was written without being checked: nothing of its objects is lost. */
const unreadable: StructSchema = buildStructuralSchema(keepsAll, { objectMeta });

/** Schemas in use in any scope of the process, by the hash of what they were built of. What is compiled of them is shared. */
const inUse = new WeakValues<StructSchema>();

function* build(bytes: Uint8Array): Steps<Built> {
  const definition = (yield* parseStoredInSteps(bytes)) as Definition;
  const pool = new SchemaPool();
  const built = new Map<string, StructSchema>();
  for (const version of definition.spec?.versions ?? []) {
    yield;
    const name = documentedName(definition, version);
    const json = version.schema?.openAPIV3Schema ?? {};
    const key = yield* contentHash(name, json);
    let schema = inUse.get(key);
    if (!schema) {
      schema = { ...(yield* schemaOf(json, { pool, descriptions: 'none', onPart: prepare })), name };
      inUse.set(key, schema);
    }
    built.set(version.name ?? '', schema);
  }
  return { built, parts: pool.size };
}

/** The schema of a version that a definition serves, built anew; undefined if there is none. */
export function* servedSchema({ spec }: Definition, version: string): Steps<StructSchema | undefined> {
  const served = spec?.versions?.find((each) => each.name === version && each.served === true);
  return served && (yield* schemaOf(served.schema?.openAPIV3Schema ?? {}, { pool: new SchemaPool(), descriptions: 'none' }));
}

function* schemaOf(json: unknown, how: { readonly pool: SchemaParts; readonly descriptions: Descriptions; readonly onPart?: (part: Schema) => void }): Steps<StructSchema> {
  const problems = yield* structuralProblemsInSteps(json, '');
  if (problems.length > 0) return unreadable;
  return yield* buildStructuralSchemaInSteps(json, { objectMeta, ...how });
}

/** Name in OpenAPI documents, as published: `com.example.v1.Widget`. */
function documentedName({ spec = {}, status }: Definition, version: DefinitionVersion): string {
  const kind = status?.acceptedNames?.kind ?? spec.names?.kind;
  return [...(spec.group ?? '').split('.').reverse(), version.name, kind].join('.');
}
