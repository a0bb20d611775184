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
    const resources = new Set([...this.all()].map(({ resource }) => resource));
    for (const resource of resources) this.remove(resource);
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
    for (const served of this.#table.all()) {
      const { resource } = served;
      if (served === resource.versions[0] && storesObjects(resource.kind)) yield resource;
    }
  }

  /** Calls the listener after each change of the table, until it is closed. It does work for what changed, and no more. */
  onChange(listener: (change: TableChange) => void): Closable {
    this.#listeners.add(listener);
    return { close: () => void this.#listeners.delete(listener) };
  }

  /**
   * Serves one more kind, once the cache has loaded its objects: as a resource of its own, or as one more version of the
   * resource that it is stored as. Costs what these cost, whatever the number of other resources. Throws where something is
   * served at its place.
   */
  async add(added: Kind): Promise<ServedResource> {
    const kind = sharedKind(added);
    const { group, version, resource, storedAs } = kind;
    if (this.find(group, version, resource)) throw new Error(`${resource} are served in ${apiVersionOf(kind)}`);
    if (storedAs) this.#addVersion(kind, storedAs.kind);
    else {
      if (storesObjects(kind)) await this.#cache.addResource(cachedResource(this.scope, kind));
      this.#swap({ removed: [], added: this.#make({ kind, others: [], builtIn: false }).versions });
    }
    const served = this.find(group, version, resource);
    if (!served) throw new Error(`${resource} were removed again`);
    return served;
  }

  #addVersion(kind: Kind, { group, version, resource: name }: Kind): void {
    const stored = this.find(group, version, name);
    if (!stored) throw new Error(`${name}, as which ${kind.resource} are stored, are not served`);
    const { resource } = stored;
    const others = resource.versions.map((each) => each.kind).filter((each) => each !== resource.kind);
    const { versions } = this.#make({ ...resource, others: [...others, kind], builtIn: false });
    this.#swap({ removed: resource.versions, added: versions });
  }

  /**
   * Serves a resource no more, in any of its versions. Its watches end, and the cache forgets its objects; what the store
   * has of them stays.
   */
  remove({ kind, versions }: Resource): void {
    this.#swap({ removed: versions, added: [] });
    if (storesObjects(kind)) this.#cache.removeResource(keyPrefix(this.scope, kind));
  }

  #make(kinds: ResourceKinds): Resource {
    return makeResource(kinds, { cache: this.#cache, scope: this.scope });
  }

  #swap(edit: Pick<TableChange, 'added' | 'removed'>): void {
    this.#table = this.#table.with(edit);
    for (const listener of [...this.#listeners]) listener({ table: this.#table, ...edit });
  }
}

const otherVersions = (stored: Kind, kinds: readonly Kind[]): readonly Kind[] =>
  kinds.filter(({ storedAs }) => storedAs && isSameResource(storedAs.kind, stored));

const isSameResource = (a: Kind, b: Kind): boolean => a.group === b.group && a.resource === b.resource;
