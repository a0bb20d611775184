import { isDeepStrictEqual } from 'node:util';
import type { Closable } from '../../base/disposable.ts';
import { parseStored } from '../../codec/json.ts';
import type { Definition, DefinitionStatus } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { isTrue } from '../../kinds/apiextensions/definition-conditions.ts';
import { customKinds } from '../../kinds/custom/custom-kinds.ts';
import type { ConversionParts } from '../../resources/conversion-webhook.ts';
import type { CustomVersions } from '../../resources/custom-versions.ts';
import type { Resource, ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { ConversionWebhooks } from './conversion-webhooks.ts';
import type { StoredDefinition } from './followed-definition.ts';

interface ServedKindsOptions {
  readonly resources: ResourceRegistry;
  /** Definitions as a resource. */
  readonly definitions: () => ServedResource | undefined;
  readonly conversions: ConversionParts;
}

/** A resource that is served because of a definition, and the state of the definition that it was made of. */
interface Served {
  readonly resource: Resource;
  readonly uid: string;
  readonly generation: number | undefined;
  readonly names: unknown;
  readonly storedVersions: unknown;
  readonly isEnding: boolean;
}

/** The resources that a scope serves because of definitions. */
export class ServedKinds implements Closable {
  readonly #options: ServedKindsOptions;
  readonly #served = new Map<string, Served>();
  readonly #webhooks: ConversionWebhooks;

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
   * established has none. Must not be called for one name again before it resolves.
   */
  async serve(name: string, stored: StoredDefinition | undefined, status: DefinitionStatus): Promise<void> {
    const { resources } = this.#options;
    const served = this.#served.get(name);
    const wanted = stored && isTrue({ status }, 'Established') ? stored : undefined;
    if (wanted && served && isServed(wanted, status, served)) return;
    const { versions, webhook } = (wanted && this.#versionsOf(name, status)) ?? {};
    if (served && wanted && versions && served.uid === wanted.uid && hasSamePath(served.resource, versions)) {
      this.#keep(wanted, status, await resources.changeCustom(served.resource, versions));
    } else {
      this.#served.delete(name);
      if (served) resources.remove(served.resource);
      if (wanted && versions) this.#keep(wanted, status, await resources.addCustom(versions));
    }
    this.#webhooks.use(name, webhook);
  }

  #keep(stored: StoredDefinition, status: DefinitionStatus, resource: Resource): void {
    const { name, uid, generation, isEnding } = stored;
    const { acceptedNames: names, storedVersions } = status;
    this.#served.set(name, { resource, uid, generation, names, storedVersions, isEnding });
  }

  /** Undefined if none of the versions has a schema that can be read. */
  #versionsOf(name: string, status: DefinitionStatus): ReadVersions | undefined {
    const found = this.#options.definitions();
    const entry = found?.collection.get(found.objectKey('', name));
    if (!entry) return undefined;
    const definition = { ...(parseStored(entry.bytes) as Definition), status };
    const kinds = customKinds(definition);
    const [stored] = kinds;
    if (!stored) return undefined;
    const webhook = this.#webhooks.of(name, definition);
    const storedInOthers = (status.storedVersions ?? []).some((each) => each !== stored.version);
    return { versions: { kinds, webhook: webhook?.webhook, storedInOthers }, webhook };
  }

  close(): void {
    this.#webhooks.close();
  }
}

/** The versions of a definition. */
interface ReadVersions {
  readonly versions: CustomVersions;
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
