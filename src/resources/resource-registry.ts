import type { Closable } from '../base/disposable.ts';
import type { WatchCache } from '../cache/cache.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { sharedKind } from '../kinds/shared-kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { Scope } from '../meta/scope.ts';
import {
  cachedResource,
  cachedResources,
  keyPrefix,
  makeResource,
  type Resource,
  type ResourceKinds,
  type ServedResource,
  servedKey,
} from './resource.ts';
import { ResourceTable } from './resource-table.ts';

/** What became of the table. */
export interface TableChange {
  readonly table: ResourceTable;
  readonly added: readonly ServedResource[];
  readonly removed: readonly ServedResource[];
}

/** Where the objects of a table's resources are. */
interface TablePlace {
  readonly cache: WatchCache;
  readonly scope: Scope;
}

/**
 * The table of what is served in a scope now. It is swapped as a whole; whoever depends on it is told what is different.
 * Requests keep the version that they found when they began. Keys of the store come from here and from nowhere else, so that
 * whoever works with a table works in its scope.
 */
export class ResourceRegistry {
  readonly scope: Scope;
  readonly #cache: WatchCache;
  readonly #listeners = new Set<(change: TableChange) => void>();
  /** By the version that is stored; those, too, of which no version is served. */
  readonly #resources = new Map<string, Resource>();
  #table: ResourceTable;

  /** The cache holds these kinds' objects. */
  constructor(kinds: readonly Kind[], { cache, scope }: TablePlace) {
    this.#cache = cache;
    this.scope = scope;
    const added = kinds
      .filter((kind) => !kind.storedAs)
      .flatMap((kind) => this.#make({ kind, others: otherVersions(kind, kinds), builtIn: true }).versions);
    this.#table = ResourceTable.empty.with({ removed: [], added });
  }

  /** A table of these kinds in one more scope, once the cache has loaded their objects. */
  static async open(kinds: readonly Kind[], place: TablePlace): Promise<ResourceRegistry> {
    const { cache, scope } = place;
    await Promise.all(cachedResources(scope, kinds).map((resource) => cache.addResource(resource)));
    return new ResourceRegistry(kinds, place);
  }

  /** Serves nothing any more. What the store has stays. */
  close(): void {
    for (const resource of [...this.#resources.values()]) this.remove(resource);
  }

  /** What is served now. Keep it to see no change. */
  get table(): ResourceTable {
    return this.#table;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#table.find(group, version, resource);
  }

  /** Finds it as `find` does, for those who ask with each request: looks only when the table has changed. */
  finder(group: string, version: string, resource: string): () => ServedResource | undefined {
    let table: ResourceTable | undefined;
    let served: ServedResource | undefined;
    return () => {
      if (table !== this.#table) {
        table = this.#table;
        served = table.find(group, version, resource);
      }
      return served;
    };
  }

  /** In order of group, version and resource; the core group first. */
  all(): IterableIterator<ServedResource> {
    return this.#table.all();
  }

  /** What is stored, each resource once however many versions it has. */
  *stored(): IterableIterator<Resource> {
    for (const resource of this.#resources.values()) if (storesObjects(resource.kind)) yield resource;
  }

  /** Calls the listener after each change of the table, until it is closed. It does work for what changed, and no more. */
  onChange(listener: (change: TableChange) => void): Closable {
    this.#listeners.add(listener);
    return { close: () => void this.#listeners.delete(listener) };
  }

  /**
   * Serves one more kind, once the cache has loaded its objects: as a resource of its own, or as one more version of the
   * resource that it is stored as. Costs what these cost, whatever the number of other resources. Throws where something is
   * served at its place, and where the kind itself is not served: see `addResource`.
   */
  async add(kind: Kind): Promise<ServedResource> {
    const { resource } = await this.addResource(kind);
    const served = resource.versions.find((each) => isSameVersion(each.kind, kind));
    if (!served) throw new Error(`${kind.resource} are not served in ${apiVersionOf(kind)}`);
    return served;
  }

  /** The same, also for a kind that is not served: others are stored in its form, or will be. */
  async addResource(added: Kind): Promise<{ readonly resource: Resource }> {
    const kind = sharedKind(added);
    const { group, version, resource: name, storedAs } = kind;
    if (this.find(group, version, name)) throw new Error(`${name} are served in ${apiVersionOf(kind)}`);
    if (storedAs) return { resource: this.#addVersion(kind, storedAs.kind) };
    if (storesObjects(kind)) await this.#cache.addResource(cachedResource(this.scope, kind));
    const resource = this.#make({ kind, others: [], builtIn: false });
    this.#swap({ removed: [], added: resource.versions });
    return { resource };
  }

  #addVersion(kind: Kind, stored: Kind): Resource {
    const before = this.#resources.get(keyOf(stored));
    if (!before) throw new Error(`${stored.resource}, as which ${kind.resource} are stored, are not served`);
    if (before.kinds.some((each) => isSameVersion(each, kind))) throw new Error(`${apiVersionOf(kind)} is there`);
    return this.#replace(before, [...before.kinds.slice(1), kind], false);
  }

  /**
   * Serves one version of a resource no more; the others stay, and their watches go on. Throws for the version whose form is
   * stored.
   */
  removeVersion({ kind, resource }: ServedResource): Resource {
    if (kind === resource.kind) throw new Error(`${kind.resource} are stored as ${apiVersionOf(kind)}`);
    return this.#replace(
      resource,
      resource.kinds.slice(1).filter((each) => each !== kind),
      resource.builtIn,
    );
  }

  /** The resource with other versions beside the stored one. */
  #replace(before: Resource, others: readonly Kind[], builtIn: boolean): Resource {
    const resource = this.#make({ kind: before.kind, others, builtIn, before });
    this.#swap({ removed: before.versions, added: resource.versions });
    for (const { kind, forms } of before.versions) if (!resource.kinds.includes(kind)) forms?.end();
    return resource;
  }

  /**
   * Serves a resource no more, in any of its versions. Its watches end, and the cache forgets its objects; what the store
   * has of them stays.
   */
  remove(resource: Resource): void {
    const { kind } = resource;
    // Its versions may have changed since.
    const { versions } = this.#resources.get(keyOf(kind)) ?? resource;
    this.#resources.delete(keyOf(kind));
    this.#swap({ removed: versions, added: [] });
    if (storesObjects(kind)) this.#cache.removeResource(keyPrefix(this.scope, kind));
  }

  #make(kinds: ResourceKinds): Resource {
    const resource = makeResource(kinds, { cache: this.#cache, scope: this.scope });
    this.#resources.set(keyOf(resource.kind), resource);
    return resource;
  }

  #swap(edit: Pick<TableChange, 'added' | 'removed'>): void {
    this.#table = this.#table.with(edit);
    for (const listener of [...this.#listeners]) listener({ table: this.#table, ...edit });
  }
}

const otherVersions = (stored: Kind, kinds: readonly Kind[]): readonly Kind[] =>
  kinds.filter(({ storedAs }) => storedAs && isSameResource(storedAs.kind, stored));

const keyOf = ({ group, version, resource }: Kind): string => servedKey(group, version, resource);

const isSameVersion = (a: Kind, b: Kind): boolean => isSameResource(a, b) && a.version === b.version;

const isSameResource = (a: Kind, b: Kind): boolean => a.group === b.group && a.resource === b.resource;
