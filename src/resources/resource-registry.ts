import type { Closable } from '../base/disposable.ts';
import type { WatchCache } from '../cache/cache.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import { cachedResource, keyPrefix, makeResource, type Resource, type ServedResource } from './resource.ts';
import { ResourceTable } from './resource-table.ts';

/** What became of the table. */
export interface TableChange {
  readonly table: ResourceTable;
  readonly added: readonly ServedResource[];
  readonly removed: readonly ServedResource[];
}

/**
 * The table of what is served now. It is swapped as a whole; whoever depends on it is told what is different. Requests keep
 * the version that they found when they began.
 */
export class ResourceRegistry {
  readonly #cache: WatchCache;
  readonly #listeners = new Set<(change: TableChange) => void>();
  #table: ResourceTable;

  /** The cache holds these kinds' objects. */
  constructor(kinds: readonly Kind[], cache: WatchCache) {
    this.#cache = cache;
    const added = kinds
      .filter((kind) => !kind.storedAs)
      .flatMap(
        (stored) => makeResource({ kind: stored, others: otherVersions(stored, kinds), builtIn: true }, cache).versions,
      );
    this.#table = ResourceTable.empty.with({ removed: [], added });
  }

  /** What is served now. Keep it to see no change. */
  get table(): ResourceTable {
    return this.#table;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#table.find(group, version, resource);
  }

  /** In order of group, version and resource; the core group first. */
  all(): IterableIterator<ServedResource> {
    return this.#table.all();
  }

  /** What is stored, each resource once however many versions it has. */
  *stored(): IterableIterator<Resource> {
    for (const { kind, resource } of this.#table.all()) {
      if (kind === resource.kind && storesObjects(kind)) yield resource;
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
  async add(kind: Kind): Promise<ServedResource> {
    const { group, version, resource, storedAs } = kind;
    if (this.find(group, version, resource)) throw new Error(`${resource} are served in ${apiVersionOf(kind)}`);
    if (storedAs) this.#addVersion(kind, storedAs.kind);
    else {
      if (storesObjects(kind)) await this.#cache.addResource(cachedResource(kind));
      this.#swap({ removed: [], added: makeResource({ kind, others: [], builtIn: false }, this.#cache).versions });
    }
    const added = this.find(group, version, resource);
    if (!added) throw new Error(`${resource} were removed again`);
    return added;
  }

  #addVersion(kind: Kind, { group, version, resource: name }: Kind): void {
    const stored = this.find(group, version, name);
    if (!stored) throw new Error(`${name}, as which ${kind.resource} are stored, are not served`);
    const { resource } = stored;
    const others = resource.versions.map((each) => each.kind).filter((each) => each !== resource.kind);
    const { versions } = makeResource({ ...resource, others: [...others, kind], builtIn: false }, this.#cache);
    this.#swap({ removed: resource.versions, added: versions });
  }

  /**
   * Serves a resource no more, in any of its versions. Its watches end, and the cache forgets its objects; what the store
   * has of them stays.
   */
  remove({ kind, versions }: Resource): void {
    this.#swap({ removed: versions, added: [] });
    if (storesObjects(kind)) this.#cache.removeResource(keyPrefix(kind));
  }

  #swap(edit: Pick<TableChange, 'added' | 'removed'>): void {
    this.#table = this.#table.with(edit);
    for (const listener of [...this.#listeners]) listener({ table: this.#table, ...edit });
  }
}

const otherVersions = (stored: Kind, kinds: readonly Kind[]): readonly Kind[] =>
  kinds.filter(({ storedAs }) => storedAs && keyPrefix(storedAs.kind) === keyPrefix(stored));
