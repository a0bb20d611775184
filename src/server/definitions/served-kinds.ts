import { isDeepStrictEqual } from 'node:util';
import { asBuffer } from '../../base/collections/byte-span.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { allAtOnce, inSlices, type Steps } from '../../base/time/in-slices.ts';
import { parseStoredInSteps } from '../../codec/json-steps.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import type {
  Definition,
  DefinitionCondition,
  DefinitionStatus,
} from '../../kinds/apiextensions/custom-resource-definition.ts';
import { isTrue } from '../../kinds/apiextensions/definition-conditions.ts';
import { type CustomKinds, customKinds } from '../../kinds/custom/custom-kinds.ts';
import { DefinedSchemas } from '../../kinds/custom/defined-schemas.ts';
import { isSchemaReady } from '../../kinds/lazy-schema.ts';
import type { ConversionParts } from '../../resources/conversion-webhook.ts';
import type { CustomVersions } from '../../resources/custom-versions.ts';
import type { Resource, ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { preloadRules } from '../../schema/rules/validate-rules.ts';
import { ConversionWebhooks } from './conversion-webhooks.ts';
import type { ServedChange } from './document-metrics.ts';
import type { StoredDefinition } from './followed-definition.ts';

interface ServedKindsOptions {
  readonly clock: Clock;
  readonly resources: ResourceRegistry;
  /** Definitions as a resource. */
  readonly definitions: () => ServedResource | undefined;
  readonly conversions: ConversionParts;
  /** Called after each change of what is served. */
  readonly changed: (change: ServedChange) => void;
}

/** A resource that is served because of a definition, and the state of the definition that it was made of. */
interface Served {
  readonly resource: Resource;
  readonly schemas: DefinedSchemas;
  readonly uid: string;
  readonly generation: number | undefined;
  readonly names: unknown;
  readonly storedVersions: unknown;
  readonly isEnding: boolean;
  readonly structure: Structure | undefined;
}

/** What the schemas of a definition are like. */
export interface Structure {
  /** Condition `NonStructuralSchema`, if it applies. */
  readonly nonStructural: DefinitionCondition | undefined;
}

/** The resources that a scope serves because of definitions. */
export class ServedKinds implements Closable {
  readonly #options: ServedKindsOptions;
  readonly #served = new Map<string, Served>();
  readonly #webhooks: ConversionWebhooks;
  /** Definitions with rules were seen: what evaluates them is loaded. */
  #hasRules = false;

  constructor(options: ServedKindsOptions) {
    this.#options = options;
    this.#webhooks = new ConversionWebhooks(options.conversions);
  }

  names(): IterableIterator<string> {
    return this.#served.keys();
  }

  resourceOf(name: string): Resource | undefined {
    return this.#served.get(name)?.resource;
  }

  /**
   * Adds, replaces or removes the kinds of a definition, so that they are what it says now. A definition that is not
   * established has none. Must not be called for one name again before it resolves. Resolves to what is wrong with its
   * schemas, unless they were not looked at.
   */
  async serve(
    name: string,
    stored: StoredDefinition | undefined,
    status: DefinitionStatus,
  ): Promise<Structure | undefined> {
    const { resources } = this.#options;
    const served = this.#served.get(name);
    const wanted = stored && isTrue({ status }, 'Established') ? stored : undefined;
    const read = wanted && this.#reading(name);
    const isSame = wanted !== undefined && served?.uid === wanted.uid && served.generation === wanted.generation;
    if (isSame && read) served.schemas.readFrom(read.bytes);
    if (wanted && served && isServed(wanted, status, served)) return served.structure;
    const schemas = isSame ? served.schemas : new DefinedSchemas(revisionOf(stored), read?.bytes ?? unread);
    const { versions, webhook, structure } = (read && (await this.#versionsOf(name, status, { read, schemas }))) ?? {};
    if (served && wanted && versions && served.uid === wanted.uid && hasSamePath(served.resource, versions)) {
      // They are compared if there are objects.
      const ready = isSchemaReady(served.resource.kind) ? schemas.ready(this.#options.clock) : undefined;
      if (ready) await ready;
      const resource = await resources.changeCustom(served.resource, versions);
      this.#keep(wanted, status, { resource, schemas, structure });
      this.#tell(name, 'update', [served.resource, resource]);
    } else {
      this.#served.delete(name);
      if (served) {
        resources.remove(served.resource);
        this.#tell(name, 'remove', [served.resource]);
      }
      if (wanted && versions) {
        const resource = await resources.addCustom(versions);
        this.#keep(wanted, status, { resource, schemas, structure });
        this.#tell(name, 'add', [resource]);
      }
    }
    this.#webhooks.use(name, webhook);
    return structure;
  }

  #tell(definition: string, reason: ServedChange['reason'], resources: readonly [Resource, ...Resource[]]): void {
    const versions = new Set(resources.flatMap(({ versions: all }) => all.map(({ kind }) => kind.version)));
    this.#options.changed({ definition, group: resources[0].kind.group, reason, versions: [...versions] });
  }

  #keep(stored: StoredDefinition, status: DefinitionStatus, made: Made): void {
    const { name, uid, generation, isEnding } = stored;
    const { acceptedNames: names, storedVersions } = status;
    this.#served.set(name, { ...made, uid, generation, names, storedVersions, isEnding });
  }

  /** A definition as it is stored now; undefined if it is gone. */
  #reading(name: string): Reading | undefined {
    const found = this.#options.definitions();
    const entry = found?.collection.get(found.objectKey('', name));
    return entry && { bytes: () => entry.bytes, length: entry.end - entry.start };
  }

  /**
   * A small one is read in this turn of the event loop, so that it counts at
   * once; others take several turns.
   */
  async #versionsOf(
    name: string,
    status: DefinitionStatus,
    { read, schemas }: { readonly read: Reading; readonly schemas: DefinedSchemas },
  ): Promise<ReadVersions> {
    const bytes = read.bytes();
    if (!this.#hasRules && asBuffer(bytes).includes(schemaExtensions.validations)) {
      this.#hasRules = true;
      preloadRules();
    }
    const steps = kindsOf(bytes, status, schemas);
    const isSmall = read.length <= limits.lightBytesMax;
    const made = isSmall ? allAtOnce(steps) : inSlices(steps, this.#options.clock);
    const { definition, kinds, nonStructural } = made instanceof Promise ? await made : made;
    const structure = { nonStructural };
    const [stored] = kinds;
    if (!stored) return { versions: undefined, webhook: undefined, structure };
    const webhook = this.#webhooks.of(name, definition);
    const { heavy } = this.#options.conversions;
    const storedInOthers = (status.storedVersions ?? []).some((each) => each !== stored.version);
    return { versions: { kinds, webhook: webhook?.webhook, heavy, storedInOthers }, webhook, structure };
  }

  close(): void {
    this.#webhooks.close();
  }
}

/** Of the specification of a definition. Its name is not enough: another one may have it after it was deleted. */
const revisionOf = (stored: StoredDefinition | undefined): string => `${stored?.uid} ${stored?.generation}`;

const unread = (): Uint8Array => Buffer.from('{}');

function* kindsOf(bytes: Uint8Array, status: DefinitionStatus, schemas: DefinedSchemas): Steps<ReadKinds> {
  yield;
  const stored = (yield* parseStoredInSteps(bytes)) as Definition;
  const definition = { ...stored, status };
  return { definition, ...(yield* customKinds(definition, schemas)) };
}

/** A definition in the cache. */
interface Reading {
  readonly bytes: () => Uint8Array;
  readonly length: number;
}

interface ReadKinds extends CustomKinds {
  readonly definition: Definition;
}

type Made = Pick<Served, 'resource' | 'schemas'> & { readonly structure: Structure | undefined };

/** The versions of a definition. */
interface ReadVersions {
  /** Undefined if none of them has a schema that can be used. */
  readonly versions: CustomVersions | undefined;
  readonly structure: Structure;
  readonly webhook: ReturnType<ConversionWebhooks['of']>;
}

/** Spec, names and stored versions are those that the resource was made of. */
const isServed = (stored: StoredDefinition, status: DefinitionStatus, served: Served): boolean =>
  stored.uid === served.uid &&
  stored.generation === served.generation &&
  stored.isEnding === served.isEnding &&
  isDeepStrictEqual(status.acceptedNames, served.names) &&
  isDeepStrictEqual(status.storedVersions, served.storedVersions);

/** Its group, plural and scope are those of the resource, so that objects and watches stay. */
const hasSamePath = ({ kind }: Resource, { kinds: [wanted] }: CustomVersions): boolean =>
  wanted?.group === kind.group && wanted.resource === kind.resource && wanted.scope === kind.scope;
