import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { discoverGroups } from '../../client/discovery-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { systemConfigMapNames } from '../../dialect/system-config-map-names.ts';
import type { DefinitionNames } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { type RemovedKind, removedKinds } from '../../kinds/apiextensions/removed-kinds.ts';
import type { OwnerReference } from '../../meta/api-object.ts';
import { groupKindOf } from '../discovered-resources.ts';

interface RemovedKindsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly signal: AbortSignal;
}

/**
 * Kinds of which no object can be there, as servers tell: they were defined, and went with all of their objects. Of a kind that
 * was never heard of nothing is known: its objects may be in another cluster, or come with a version that is switched on.
 */
export class RemovedKinds {
  readonly #options: RemovedKindsOptions;
  #reading: Promise<ReadonlyMap<string, RemovedKind>> | undefined;

  constructor(options: RemovedKindsOptions) {
    this.#options = options;
  }

  /** Reads anew when it is asked next. */
  expire(): void {
    this.#reading = undefined;
  }

  /** The kind of an owner, if it was removed at some time. It may have been defined again since. */
  async find(reference: Pick<OwnerReference, 'apiVersion' | 'kind'>): Promise<RemovedKind | undefined> {
    return (await this.all()).get(groupKindOf(reference));
  }

  /** By kind. */
  all(): Promise<ReadonlyMap<string, RemovedKind>> {
    if (this.#reading) return this.#reading;
    const reading = this.#read().catch((error: unknown) => {
      if (this.#reading === reading) this.#reading = undefined;
      throw error;
    });
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<ReadonlyMap<string, RemovedKind>> {
    const { client, dialect, signal } = this.#options;
    const name = systemConfigMapNames(dialect).removedKinds;
    const path = resourcePath({ resource: 'configmaps', namespace: dialect.namespaces.system, name });
    try {
      const found = await client.find<{ readonly data?: Readonly<Record<string, string>> }>(path, signal);
      return new Map(removedKinds(found?.data ?? {}).map((each) => [`${each.group}/${each.kind}`, each]));
    } catch (error) {
      // An account that may not read it collects without.
      if (hasReason(error, 'Forbidden')) return new Map();
      throw error;
    }
  }

  /**
   * Whether nothing defines or serves the kind now, neither its former definition nor anything else. False if some of its group
   * cannot be discovered. Throws if that cannot be found out.
   */
  async isGone({ group, plural, kind }: RemovedKind): Promise<boolean> {
    const { client, dialect, signal } = this.#options;
    const apiVersion = `${dialect.group('apiextensions')}/v1`;
    const path = resourcePath({ apiVersion, resource: 'customresourcedefinitions', name: `${plural}.${group}` });
    // Another server may be asked for discovery that has not yet heard of what was defined anew.
    const found = await client.find<{ readonly spec?: { readonly names?: DefinitionNames } }>(path, signal);
    if (found?.spec?.names?.kind === kind) return false;
    const { resources, failures } = await discoverGroups(this.#options, new Set([group]));
    return failures.length === 0 && !resources.some((each) => each.kind === kind);
  }
}
