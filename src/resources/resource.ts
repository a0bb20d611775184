import type { ConvertObject } from '../apply/versions.ts';
import type { CachedResource, Collection, WatchCache } from '../cache/cache.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { apiVersionOf, canonical } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Scope } from '../meta/scope.ts';
import type { ResourceName } from '../meta/status-error.ts';
import { VersionForms } from './version-forms.ts';
import { compareVersions } from './version-priority.ts';

/**
 * What is stored: one collection of objects in the form of one kind, whose strategy rules every write of them. It is
 * served in one or several versions, which may be of several groups.
 */
export interface Resource {
  /** The kind whose form is stored. */
  readonly kind: Kind;
  /** Objects as they are stored. Of kinds that are answered and never stored: one of which nothing may be asked. */
  readonly collection: Collection;
  /** The one of the stored form first, where that is served. */
  readonly versions: readonly ServedResource[];
  /** All kinds that objects can be converted to, the stored one first; those that are not served, too. */
  readonly kinds: readonly Kind[];
  /** It is there from the start, on every thread of the server. */
  readonly builtIn: boolean;
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
  /** Its objects in this version; absent where that is the stored form. */
  readonly forms: VersionForms | undefined;
  /** Text of the `Warning` for clients that use this version; absent where they may. */
  readonly deprecation: string | undefined;
  /** An object in this version, of one in the stored form: that itself where they are the same. */
  shown(stored: ApiObject): ApiObject;
  /** Gives an object, which is in this version or says its own, in another; absent where there is only one. */
  readonly convert: ConvertObject | undefined;
  /** Store key of a collection: of one namespace, or of all where `namespace` is ''. Ends with '/'. */
  collectionKey(namespace: string): string;
  /** Store key of one object. */
  objectKey(namespace: string, name: string): string;
}

/** What a version is found by in the table. */
export const servedKey = (group: string, version: string, resource: string): string =>
  `${group}/${version}/${resource}`;

/** What the keys of a kind's objects start with, in the store. No group is named `core`. */
export const keyPrefix = (scope: Scope, { group, resource }: Pick<Kind, 'group' | 'resource'>): string =>
  `${scope.keyPrefix}/${group === '' ? 'core' : group}/${resource}/`;

/** What the cache must hold for these kinds. */
export const cachedResources = (scope: Scope, kinds: readonly Kind[]): readonly CachedResource[] =>
  kinds.filter((kind) => storesObjects(kind) && !kind.storedAs).map((kind) => cachedResource(scope, kind));

/** What the cache must hold for a kind that is stored. */
export const cachedResource = (scope: Scope, kind: Kind): CachedResource => ({
  prefix: keyPrefix(scope, kind),
  namespaced: kind.scope === 'Namespaced',
  selectableFields: kind.selectableFields,
});

export interface ResourceKinds {
  readonly kind: Kind;
  /** Kinds that are stored as this one. */
  readonly others: readonly Kind[];
  readonly builtIn: boolean;
  /** What it was before: versions that stay keep their forms. */
  readonly before?: Resource;
}

/** Where objects of resources are. */
interface ResourcePlace {
  readonly cache: Pick<WatchCache, 'collection'>;
  readonly scope: Scope;
}

/** The resource that is kept in the form of its `kind`, and served in `others` as well. The cache holds what is stored of it. */
export function makeResource(
  { kind: stored, others, builtIn, before }: ResourceKinds,
  { cache, scope }: ResourcePlace,
): Resource {
  const versions: ServedResource[] = [];
  const prefix = keyPrefix(scope, stored);
  const collection = storesObjects(stored) ? cache.collection(prefix) : neverStored(stored);
  const kinds = [stored, ...others];
  const resource: Resource = { kind: stored, collection, versions, kinds, builtIn };
  const convert = others.length > 0 ? converter(kinds) : undefined;
  for (const kind of kinds) {
    if (kind.served === false) continue;
    const forms = before?.versions.find((each) => each.kind === kind)?.forms;
    versions.push(makeVersion(resource, kind, { prefix, convert, forms }));
  }
  return resource;
}

interface VersionParts {
  /** What keys of the resource start with. */
  readonly prefix: string;
  readonly convert: ConvertObject | undefined;
  /** Of the same version before. */
  readonly forms: VersionForms | undefined;
}

function makeVersion(resource: Resource, kind: Kind, { prefix, convert, forms }: VersionParts): ServedResource {
  const inNamespace = kind.scope === 'Namespaced';
  const { storedAs } = kind;
  const apiVersion = apiVersionOf(kind);
  const shown = storedAs && ((stored: ApiObject) => canonical(kind, storedAs.fromStored(stored)));
  return {
    key: servedKey(kind.group, kind.version, kind.resource),
    resource,
    kind,
    apiVersion,
    name: { group: kind.group, resource: kind.resource },
    collection: resource.collection,
    forms: forms ?? (shown && new VersionForms(shown)),
    deprecation: deprecationOf(kind, resource.kinds),
    shown: shown ?? ((stored) => stored),
    convert,
    collectionKey: (namespace) => (inNamespace && namespace !== '' ? `${prefix}${namespace}/` : prefix),
    objectKey: (namespace, name) => (inNamespace ? `${prefix}${namespace}/${name}` : `${prefix}${name}`),
  };
}

/** As published: with the best version of the group that clients should use instead, where there is one. */
function deprecationOf(kind: Kind, kinds: readonly Kind[]): string | undefined {
  if (!kind.deprecated) return undefined;
  const { warning } = kind.deprecated;
  if (warning !== undefined) return warning;
  const [better] = kinds
    .filter((each) => each.group === kind.group && each.served !== false && !each.deprecated)
    .filter((each) => compareVersions(each.version, kind.version) < 0)
    .sort((a, b) => compareVersions(a.version, b.version));
  const text = `${apiVersionOf(kind)} ${kind.kind} is deprecated`;
  return better ? `${text}; use ${apiVersionOf(better)} ${better.kind}` : text;
}

/** By way of the stored form. */
function converter(kinds: readonly Kind[]): ConvertObject {
  const byVersion = new Map(kinds.map((kind) => [apiVersionOf(kind), kind]));
  return (object, apiVersion) => {
    const [from, to] = [byVersion.get(String(object['apiVersion'])), byVersion.get(apiVersion)];
    if (!from || !to) return undefined;
    const stored = from.storedAs ? from.storedAs.toStored(object as ApiObject) : (object as ApiObject);
    return { schema: to.schema, object: to.storedAs ? to.storedAs.fromStored(stored) : stored };
  };
}

/** Who asks for objects that are never stored has a fault, and is told so. */
function neverStored({ kind }: Kind): Collection {
  const refuse = (): never => {
    throw new Error(`objects of kind ${kind} are never stored`);
  };
  return { prefix: '', get: refuse, decode: refuse, snapshot: refuse, snapshotAt: refuse, watch: refuse };
}
