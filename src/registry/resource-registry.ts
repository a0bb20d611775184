import type { CachedResource, Collection, WatchCache } from '../cache/cache.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import type { ResourceName } from '../meta/status-error.ts';

/** A kind that is served, with where its objects are. */
export interface ServedResource {
  readonly kind: Kind;
  /** `v1`, `coordination.orch.io/v1`. */
  readonly apiVersion: string;
  /** What messages call it. */
  readonly name: ResourceName;
  /** Of kinds that are never stored: one of which nothing may be asked. */
  readonly collection: Collection;
  /** Store key of a collection: of one namespace, or of all where `namespace` is ''. Ends with '/'. */
  collectionKey(namespace: string): string;
  /** Store key of one object. */
  objectKey(namespace: string, name: string): string;
}

/** What the keys of a kind's objects start with, in the store. No group is named `core`. */
export const keyPrefix = (kind: Pick<Kind, 'group' | 'resource'>): string =>
  `/${kind.group === '' ? 'core' : kind.group}/${kind.resource}/`;

/** What the cache must hold for these kinds. */
export const cachedResources = (kinds: readonly Kind[]): readonly CachedResource[] =>
  kinds.filter(storesObjects).map((kind) => ({
    prefix: keyPrefix(kind),
    namespaced: kind.scope === 'Namespaced',
    selectableFields: kind.selectableFields,
  }));

/** Which kinds are served, by group, version and resource. */
export class ResourceRegistry {
  readonly #cache: WatchCache;
  readonly #byPath = new Map<string, ServedResource>();

  constructor(kinds: readonly Kind[], cache: WatchCache) {
    this.#cache = cache;
    for (const kind of kinds) this.add(kind);
  }

  add(kind: Kind): void {
    const prefix = keyPrefix(kind);
    const inNamespace = kind.scope === 'Namespaced';
    this.#byPath.set(`${kind.group}/${kind.version}/${kind.resource}`, {
      kind,
      apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
      name: { group: kind.group, resource: kind.resource },
      collection: storesObjects(kind) ? this.#cache.collection(prefix) : neverStored(kind),
      collectionKey: (namespace) => (inNamespace && namespace !== '' ? `${prefix}${namespace}/` : prefix),
      objectKey: (namespace, name) => (inNamespace ? `${prefix}${namespace}/${name}` : `${prefix}${name}`),
    });
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#byPath.get(`${group}/${version}/${resource}`);
  }

  /** In the order in which the kinds were added. */
  all(): IterableIterator<ServedResource> {
    return this.#byPath.values();
  }
}

/** Who asks for objects that are never stored has a fault, and is told so. */
function neverStored({ kind }: Kind): Collection {
  const refuse = (): never => {
    throw new Error(`objects of kind ${kind} are never stored`);
  };
  return { prefix: '', get: refuse, decode: refuse, snapshot: refuse, snapshotAt: refuse, watch: refuse };
}
