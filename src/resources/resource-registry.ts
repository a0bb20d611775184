import { isDeepStrictEqual } from 'node:util';
import type { Closable } from '../base/disposable.ts';
import type { CachedResource, Collection, ObjectCache } from '../cache/cache.ts';
import { internKind } from '../kinds/intern-kind.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { hasSameSchema, isLazy, isSchemaReady } from '../kinds/lazy-schema.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { Scope } from '../meta/scope.ts';
import { noSuchPath, notServedYet, type StatusError } from '../meta/status-error.ts';
import type { CustomVersions } from './custom-versions.ts';
import {
  cachedResource,
  cachedResources,
  keyPrefix,
  makeResource,
  type Resource,
  type ResourceKinds,
  type ServedResource,
  selectableInAny,
  servedKey,
} from './resource.ts';
import { ResourceTable } from './resource-table.ts';

/** A change of the table, with the table after it. */
export interface TableChange {
  readonly table: ResourceTable;
  readonly added: readonly ServedResource[];
  readonly removed: readonly ServedResource[];
}

/** The cache and scope that hold the objects of a table's resources. */
interface TablePlace {
  readonly cache: ObjectCache;
  readonly scope: Scope;
}

/**
 * The resources that a scope currently serves. The table is replaced as a whole, and followers are notified of what
 * changed; a request keeps the table it started with. All store keys come from the entries of this table, so code that
 * works with a table stays in its scope.
 */
export class ResourceRegistry {
  readonly scope: Scope;
  readonly #cache: ObjectCache;
  readonly #listeners = new Set<(change: TableChange) => void>();
  /** By key of the stored version; includes resources with no served version. */
  readonly #resources = new Map<string, Resource>();
  /** Group and name of each. */
  readonly #names = new Set<string>();
  /** By collection, which is the same for as long as the resource is there. */
  readonly #current = new Map<Collection, Resource>();
  /** Prefixes of resources that the cache loads. */
  readonly #loading = new Set<string>();
  #closed = false;
  #complete = true;
  #table: ResourceTable;

  /** The cache must already hold the collections of these kinds. */
  constructor(kinds: readonly Kind[], { cache, scope }: TablePlace) {
    this.#cache = cache;
    this.scope = scope;
    const added = kinds
      .filter((kind) => !kind.storedAs)
      .flatMap((kind) => this.#make({ kind, others: otherVersions(kind, kinds), builtIn: true }).versions);
    this.#table = ResourceTable.empty.with({ removed: [], added });
  }

  /** Opens a registry of these kinds for another scope. Resolves once the cache has loaded their objects. */
  static async open(kinds: readonly Kind[], place: TablePlace): Promise<ResourceRegistry> {
    const { cache, scope } = place;
    await Promise.all(cachedResources(scope, kinds).map((resource) => cache.addResource(resource)));
    return new ResourceRegistry(kinds, place);
  }

  /** A registry of one custom resource. The cache must already hold its collection, and its kinds be interned. */
  static ofCustom(custom: CustomVersions, place: TablePlace): ResourceRegistry {
    const registry = new ResourceRegistry([], place);
    registry.#serveCustom(custom);
    return registry;
  }

  /** Removes all resources, those too that are being loaded. Their objects stay in the store. */
  close(): void {
    this.#closed = true;
    for (const prefix of this.#loading) this.#cache.removeResource(prefix);
    for (const resource of [...this.#resources.values()]) this.remove(resource);
  }

  /** Says that kinds which were defined before are about to be added; returns what says that all were. */
  awaitKinds(): () => void {
    this.#complete = false;
    return () => {
      this.#complete = true;
    };
  }

  /** The refusal of a path at which nothing is served: what exists must not seem to be gone while the server starts. */
  notServed(): StatusError {
    return this.#complete ? noSuchPath() : notServedYet();
  }

  /** The current table. It is immutable: a caller that keeps it sees no later change. */
  get table(): ResourceTable {
    return this.#table;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#table.find(group, version, resource);
  }

  /**
   * `find` for repeated use by the server itself: the returned function looks up again only after the table has changed.
   * It also finds stored versions that clients are not served in.
   */
  finder(group: string, version: string, resource: string): () => ServedResource | undefined {
    let table: ResourceTable | undefined;
    let served: ServedResource | undefined;
    return () => {
      if (table !== this.#table) {
        table = this.#table;
        served =
          table.find(group, version, resource) ?? this.#resources.get(servedKey(group, version, resource))?.stored;
      }
      return served;
    };
  }

  /**
   * A resource as it is now: definitions change while requests wait. Undefined once it was removed, also if another one
   * has its name.
   */
  current({ collection }: Resource): Resource | undefined {
    return this.#current.get(collection);
  }

  /** In order of group, version and resource; the core group first. */
  all(): IterableIterator<ServedResource> {
    return this.#table.all();
  }

  /** All stored resources, each once regardless of its versions. */
  *stored(): IterableIterator<Resource> {
    for (const resource of this.#resources.values()) if (storesObjects(resource.kind)) yield resource;
  }

  /** Calls the listener after each change, until the result is closed. Listeners should only do work for what changed. */
  onChange(listener: (change: TableChange) => void): Closable {
    this.#listeners.add(listener);
    return { close: () => void this.#listeners.delete(listener) };
  }

  /**
   * Serves a kind, as a new resource or as another version of the resource it is stored as. Resolves once the cache has
   * loaded its objects. The cost does not depend on the number of other resources. Throws if its group, version and
   * resource are already served, or if the kind is marked as not served: see `addResource`.
   */
  async add(kind: Kind): Promise<ServedResource> {
    const { resource } = await this.addResource(kind);
    const served = resource.versions.find((each) => isSameVersion(each.kind, kind));
    if (!served) throw new Error(`${kind.resource} are not served in ${apiVersionOf(kind)}`);
    return served;
  }

  /** Like `add`, but accepts a kind that is not served: a storage version for other kinds. */
  async addResource(added: Kind): Promise<{ readonly resource: Resource }> {
    const kind = internKind(added);
    const { group, version, resource: name, storedAs } = kind;
    if (this.find(group, version, name)) throw new Error(`${name} are served in ${apiVersionOf(kind)}`);
    if (storedAs) return { resource: this.#addVersion(kind, storedAs.kind) };
    if (storesObjects(kind)) await this.#load(cachedResource(this.scope, kind));
    const resource = this.#make({ kind, others: [], builtIn: false });
    this.#swap({ removed: [], added: resource.versions });
    return { resource };
  }

  /**
   * Serves a custom resource in all of its versions. Resolves once the cache has loaded its objects. Throws if its group and
   * resource are served already.
   */
  async addCustom(versions: CustomVersions): Promise<Resource> {
    const custom = internVersions(versions);
    const [kind] = custom.kinds;
    if (!kind) throw new Error('a custom resource has a version');
    if (this.#names.has(nameOf(kind))) {
      throw new Error(`${kind.resource} of ${kind.group} are served`);
    }
    await this.#load(cachedResource(this.scope, kind, custom));
    return this.#serveCustom(custom);
  }

  #serveCustom(custom: CustomVersions): Resource {
    const [kind, ...others] = custom.kinds;
    if (!kind) throw new Error('a custom resource has a version');
    const resource = this.#make({ kind, others, builtIn: false, custom });
    this.#swap({ removed: [], added: resource.versions });
    return resource;
  }

  /**
   * Changes the versions of a custom resource, with its names staying. Watches go on, except those in versions that are no
   * longer served. Resolves once the objects are in the new form.
   */
  async changeCustom(before: Resource, versions: CustomVersions): Promise<Resource> {
    const custom = internVersions(versions);
    const [kind, ...others] = custom.kinds;
    if (!kind || !isSameResource(kind, before.kind))
      throw new Error(`${before.kind.resource} stay what they are called`);
    const cached = cachedResource(this.scope, kind, custom);
    if (!isSameForm(before.custom, cached, custom)) await this.#cache.changeResource(cached);
    this.#resources.delete(keyOf(before.kind));
    const resource = this.#make({ kind, others, builtIn: false, custom, before });
    this.#swap({ removed: before.versions, added: resource.versions });
    const kept = new Set(resource.versions.map(({ watchedForms }) => watchedForms));
    for (const { watchedForms } of before.versions) if (!kept.has(watchedForms)) watchedForms?.end();
    return resource;
  }

  /** Rejects if the table was closed meanwhile. */
  async #load(resource: CachedResource): Promise<void> {
    if (this.#closed) throw closedWhileLoading();
    const loading = this.#cache.addResource(resource);
    this.#loading.add(resource.prefix);
    try {
      await loading;
    } finally {
      this.#loading.delete(resource.prefix);
    }
    if (this.#closed) throw closedWhileLoading();
  }

  #addVersion(kind: Kind, stored: Kind): Resource {
    const before = this.#resources.get(keyOf(stored));
    if (!before) throw new Error(`${stored.resource}, as which ${kind.resource} are stored, are not served`);
    if (before.kinds.some((each) => isSameVersion(each, kind))) throw new Error(`${apiVersionOf(kind)} is there`);
    return this.#replace(before, [...before.kinds.slice(1), kind], false);
  }

  /**
   * Stops serving one version of a resource. The others stay, and their watches continue. Throws if it is the stored
   * version.
   */
  removeVersion({ kind, resource }: ServedResource): Resource {
    if (kind === resource.kind) throw new Error(`${kind.resource} are stored as ${apiVersionOf(kind)}`);
    return this.#replace(
      resource,
      resource.kinds.slice(1).filter((each) => each !== kind),
      resource.builtIn,
    );
  }

  /** Replaces the versions of a resource, other than the stored one. Ends watches of those removed. */
  #replace(before: Resource, others: readonly Kind[], builtIn: boolean): Resource {
    const resource = this.#make({ kind: before.kind, others, builtIn, before });
    this.#swap({ removed: before.versions, added: resource.versions });
    for (const { kind, watchedForms } of before.versions) if (!resource.kinds.includes(kind)) watchedForms?.end();
    return resource;
  }

  /**
   * Stops serving a resource in all versions. Its watches end and the cache drops its objects; the store keeps them.
   */
  remove(resource: Resource): void {
    const { kind } = resource;
    // The versions may have changed since the caller got the resource.
    const { versions } = this.#resources.get(keyOf(kind)) ?? resource;
    this.#resources.delete(keyOf(kind));
    this.#names.delete(nameOf(kind));
    if (storesObjects(kind)) this.#current.delete(resource.collection);
    this.#swap({ removed: versions, added: [] });
    if (storesObjects(kind)) this.#cache.removeResource(keyPrefix(this.scope, kind));
  }

  #make(kinds: ResourceKinds): Resource {
    const resource = makeResource(kinds, { cache: this.#cache, scope: this.scope });
    this.#resources.set(keyOf(resource.kind), resource);
    this.#names.add(nameOf(resource.kind));
    if (storesObjects(resource.kind)) this.#current.set(resource.collection, resource);
    return resource;
  }

  #swap(edit: Pick<TableChange, 'added' | 'removed'>): void {
    this.#table = this.#table.with(edit);
    for (const listener of [...this.#listeners]) listener({ table: this.#table, ...edit });
  }
}

const closedWhileLoading = (): Error => new Error('the table of resources is closed');

const otherVersions = (stored: Kind, kinds: readonly Kind[]): readonly Kind[] =>
  kinds.filter(({ storedAs }) => storedAs && isSameResource(storedAs.kind, stored));

/**
 * Whether objects in the cache stay as they are: neither the storage version nor the conversion matters to it. Schemas that
 * are not built are not compared: mostly there are no objects then.
 */
const isSameForm = (before: CustomVersions | undefined, cached: CachedResource, { kinds }: CustomVersions): boolean =>
  before !== undefined &&
  before.kinds.length === kinds.length &&
  [...before.kinds, ...kinds].every(isSchemaReady) &&
  kinds.every((kind) => before.kinds.some((each) => each.version === kind.version && hasSameSchema(each, kind))) &&
  isDeepStrictEqual(selectableInAny(before.kinds), cached.selectableFields);

const internVersions = (versions: CustomVersions): CustomVersions => ({
  ...versions,
  kinds: versions.kinds.map((kind) => (isLazy(kind) ? kind : internKind(kind))),
});

const keyOf = ({ group, version, resource }: Kind): string => servedKey(group, version, resource);

const nameOf = ({ group, resource }: Kind): string => `${group}/${resource}`;

const isSameVersion = (a: Kind, b: Kind): boolean => isSameResource(a, b) && a.version === b.version;

const isSameResource = (a: Kind, b: Kind): boolean => a.group === b.group && a.resource === b.resource;
