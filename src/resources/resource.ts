import type { CachedResource, Collection, WatchCache } from '../cache/cache.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import type { ResourceName } from '../meta/status-error.ts';

/**
 * What is stored: one collection of objects in the form of one kind, whose strategy rules every write of them. It is
 * served in one or several versions, which may be of several groups.
 */
export interface Resource {
  /** The kind whose form is stored. */
  readonly kind: Kind;
  /** Objects as they are stored. Of kinds that are answered and never stored: one of which nothing may be asked. */
  readonly collection: Collection;
  readonly versions: readonly ServedResource[];
}

/** A resource in one of the versions in which it is served: what a request for objects names. Never changes. */
export interface ServedResource {
  /** By which the table sorts: `<group>/<version>/<resource>`. */
  readonly key: string;
  readonly resource: Resource;
  /** Schema, columns and selectable fields of this version. */
  readonly kind: Kind;
  /** `v1`, `coordination.orch.io/v1`. */
  readonly apiVersion: string;
  /** What messages call it. */
  readonly name: ResourceName;
  /** The resource's, in the stored form. */
  readonly collection: Collection;
  /** Store key of a collection: of one namespace, or of all where `namespace` is ''. Ends with '/'. */
  collectionKey(namespace: string): string;
  /** Store key of one object. */
  objectKey(namespace: string, name: string): string;
}

/** What a version is found by in the table. */
export const servedKey = (group: string, version: string, resource: string): string =>
  `${group}/${version}/${resource}`;

/** What the keys of a kind's objects start with, in the store. No group is named `core`. */
export const keyPrefix = (kind: Pick<Kind, 'group' | 'resource'>): string =>
  `/${kind.group === '' ? 'core' : kind.group}/${kind.resource}/`;

/** What the cache must hold for these kinds. */
export const cachedResources = (kinds: readonly Kind[]): readonly CachedResource[] =>
  kinds.filter(storesObjects).map(cachedResource);

/** What the cache must hold for a kind that is stored. */
export const cachedResource = (kind: Kind): CachedResource => ({
  prefix: keyPrefix(kind),
  namespaced: kind.scope === 'Namespaced',
  selectableFields: kind.selectableFields,
});

/** The resource that is kept in the form of `stored`. Where it is stored at all, the cache holds its collection. */
export function makeResource(stored: Kind, cache: Pick<WatchCache, 'collection'>): Resource {
  const versions: ServedResource[] = [];
  const collection = storesObjects(stored) ? cache.collection(keyPrefix(stored)) : neverStored(stored);
  const resource: Resource = { kind: stored, collection, versions };
  versions.push(makeVersion(resource, stored));
  return resource;
}

function makeVersion(resource: Resource, kind: Kind): ServedResource {
  const prefix = keyPrefix(resource.kind);
  const inNamespace = kind.scope === 'Namespaced';
  return {
    key: servedKey(kind.group, kind.version, kind.resource),
    resource,
    kind,
    apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
    name: { group: kind.group, resource: kind.resource },
    collection: resource.collection,
    collectionKey: (namespace) => (inNamespace && namespace !== '' ? `${prefix}${namespace}/` : prefix),
    objectKey: (namespace, name) => (inNamespace ? `${prefix}${namespace}/${name}` : `${prefix}${name}`),
  };
}

/** Who asks for objects that are never stored has a fault, and is told so. */
function neverStored({ kind }: Kind): Collection {
  const refuse = (): never => {
    throw new Error(`objects of kind ${kind} are never stored`);
  };
  return { prefix: '', get: refuse, decode: refuse, snapshot: refuse, snapshotAt: refuse, watch: refuse };
}
