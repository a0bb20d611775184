import type { ConvertObject } from '../apply/versions.ts';
import type { CachedResource, Collection, ObjectCache } from '../cache/cache.ts';
import { encodeObject, parseStored } from '../codec/json.ts';
import { encodeVersioned } from '../codec/object-bytes.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { apiVersionOf, canonical } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Scope } from '../meta/scope.ts';
import type { SelectableField } from '../meta/selectable-field.ts';
import type { ResourceName } from '../meta/status-error.ts';
import {
  askingFor,
  type ConversionCaller,
  type CustomVersions,
  convertAll,
  inVersion,
  Normaliser,
} from './custom-versions.ts';
import { type ConvertStored, type HeavyConvert, VersionForms } from './version-forms.ts';
import { compareVersions } from './version-priority.ts';

/**
 * One stored collection of objects. The stored kind determines their form, and its strategy applies to every write. The
 * resource is served in one or more versions, possibly of different API groups.
 */
export interface Resource {
  /** The stored kind (storage version). */
  readonly kind: Kind;
  /** Objects in stored form. For kinds that are never stored, every call throws. */
  readonly collection: Collection;
  /** Served versions; the stored one first, if it is served. */
  readonly versions: readonly ServedResource[];
  /** The stored version, for the server's own use: also if clients are not served in it. */
  readonly stored: ServedResource;
  /** All kinds that objects can be converted to, including those not served; the stored one first. */
  readonly kinds: readonly Kind[];
  /** A built-in kind: known from startup on every thread. Others (custom resources) are added at run time. */
  readonly builtIn: boolean;
  /** Of a custom resource. */
  readonly custom: CustomVersions | undefined;
  /** See `CachedResource`. */
  readonly normalise: CachedResource['normalise'];
}

/** Conversion of objects between the versions of a resource, by their `apiVersion`. */
type ObjectConversion =
  | { readonly type: 'now'; readonly convert: ConvertObject }
  /** Somebody else is asked. */
  | { readonly type: 'later'; readonly convert: ConvertLater };

/** As `ConvertObject`, with a result to be waited for. */
export type ConvertLater = (
  object: Readonly<Record<string, unknown>>,
  apiVersion: string,
  caller: ConversionCaller,
) => Promise<ReturnType<ConvertObject>> | undefined;

/** A resource in one served version, as the path of a request names it. Immutable. */
export interface ServedResource {
  /** Key in the table: `<group>/<version>/<resource>`. */
  readonly key: string;
  readonly resource: Resource;
  /** Schema, columns and selectable fields of this version. */
  readonly kind: Kind;
  /** `v1`, `coordination.orch.io/v1`. */
  readonly apiVersion: string;
  /** Name in error messages. */
  readonly name: ResourceName;
  /** Collection of the resource, in stored form. */
  readonly collection: Collection;
  /** Objects converted to this version; undefined if they are stored in it. */
  readonly forms: VersionForms | undefined;
  /** The same for watches, which outlast changes of a custom resource. */
  readonly watchedForms: VersionForms | undefined;
  /** `Warning` header for clients of this version; undefined if it is not deprecated. */
  readonly deprecation: string | undefined;
  /**
   * The kind in whose form objects are written: strategies, admission and validation see them so. The stored one; of a custom
   * resource this version.
   */
  readonly written: Kind;
  /**
   * Selectable fields by which nothing can be selected, since objects are selected as they are stored and some version of them,
   * which a webhook converts, has no such field.
   */
  readonly unselectable: ReadonlySet<string>;
  /** Converts an object from the written form to this version. Returns it unchanged if there is no difference. */
  fromWritten(written: ApiObject): ApiObject;
  /** The value to store for an object in the written form, of which `encoded` is the encoding. */
  toStored(written: ApiObject, encoded: Buffer, caller: ConversionCaller): Buffer | Promise<Buffer>;
  /** Converts objects between versions; undefined if the resource has a single version. */
  readonly conversion: ObjectConversion | undefined;
  /** Store key prefix of the objects of one namespace, or of all if `namespace` is ''. Ends with '/'. */
  collectionKey(namespace: string): string;
  /** Store key of one object. */
  objectKey(namespace: string, name: string): string;
}

/** The key of a version in the table. */
export const servedKey = (group: string, version: string, resource: string): string =>
  `${group}/${version}/${resource}`;

/** Store key prefix of a kind's objects. `core` stands for the core group; no group has that name. */
export const keyPrefix = (scope: Scope, { group, resource }: Pick<Kind, 'group' | 'resource'>): string =>
  `${scope.keyPrefix}/${group === '' ? 'core' : group}/${resource}/`;

/** The collections that the cache must hold for these kinds. */
export const cachedResources = (scope: Scope, kinds: readonly Kind[]): readonly CachedResource[] =>
  kinds.filter((kind) => storesObjects(kind) && !kind.storedAs).map((kind) => cachedResource(scope, kind));

/** The collection that the cache must hold for a stored kind. */
export function cachedResource(scope: Scope, kind: Kind, custom?: CustomVersions): CachedResource {
  const normaliser = custom && new Normaliser(custom.kinds);
  return {
    prefix: keyPrefix(scope, kind),
    namespaced: kind.scope === 'Namespaced',
    selectableFields: custom ? selectableInAny(custom.kinds) : kind.selectableFields,
    normalise: normaliser?.normalise,
    ready: normaliser?.ready,
  };
}

/** Objects are in any of the versions; the first definition of a label counts. */
export const selectableInAny = (kinds: readonly Kind[]): readonly SelectableField[] => [
  ...new Map(kinds.toReversed().flatMap((kind) => kind.selectableFields.map((field) => [field.label, field]))).values(),
];

export interface ResourceKinds {
  readonly kind: Kind;
  /** Kinds that are stored as this one. */
  readonly others: readonly Kind[];
  readonly builtIn: boolean;
  /** Of a custom resource, whose kinds these are. */
  readonly custom?: CustomVersions | undefined;
  /** The resource being replaced; versions that stay keep their `forms`. */
  readonly before?: Resource;
}

/** The cache and scope that hold the objects. */
interface ResourcePlace {
  readonly cache: Pick<ObjectCache, 'collection'>;
  readonly scope: Scope;
}

/** Builds a resource stored as `kind` and also served as `others`. The cache must already hold its collection. */
export function makeResource(
  { kind: stored, others, builtIn, custom, before }: ResourceKinds,
  { cache, scope }: ResourcePlace,
): Resource {
  const prefix = keyPrefix(scope, stored);
  const collection = storesObjects(stored) ? cache.collection(prefix) : neverStored(stored);
  const kinds = [stored, ...others];
  const conversion = others.length === 0 ? undefined : custom ? customConversion(custom) : converter(kinds);
  return new VersionedResource({ kind: stored, collection, kinds, builtIn, custom }, (resource, kind) =>
    makeVersion(resource, kind, { prefix, conversion, forms: formsOf(before, kind) }),
  );
}

class VersionedResource implements Resource {
  readonly kind: Kind;
  readonly collection: Collection;
  readonly kinds: readonly Kind[];
  readonly builtIn: boolean;
  readonly custom: CustomVersions | undefined;
  readonly normalise: CachedResource['normalise'];
  readonly stored: ServedResource;
  readonly versions: readonly ServedResource[];

  constructor(
    { kind, collection, kinds, builtIn, custom }: Omit<Resource, 'normalise' | 'stored' | 'versions'>,
    versionOf: (resource: Resource, kind: Kind) => ServedResource,
  ) {
    this.kind = kind;
    this.collection = collection;
    this.kinds = kinds;
    this.builtIn = builtIn;
    this.custom = custom;
    this.normalise = custom && new Normaliser(kinds).normalise;
    this.stored = versionOf(this, kind);
    this.versions = kinds
      .filter(({ served }) => served !== false)
      .map((each) => (each === kind ? this.stored : versionOf(this, each)));
  }
}

/** The forms of the same version in a replaced resource. Versions of built-in kinds do not change. */
const formsOf = (before: Resource | undefined, { version }: Kind): VersionForms | undefined =>
  before?.versions.find((each) => each.kind.version === version)?.watchedForms;

interface VersionParts {
  /** Store key prefix of the resource. */
  readonly prefix: string;
  readonly conversion: ObjectConversion | undefined;
  /** `forms` of the same version in the replaced resource. */
  readonly forms: VersionForms | undefined;
}

function makeVersion(resource: Resource, kind: Kind, { prefix, conversion, forms }: VersionParts): ServedResource {
  const inNamespace = kind.scope === 'Namespaced';
  const apiVersion = apiVersionOf(kind);
  return {
    key: servedKey(kind.group, kind.version, kind.resource),
    resource,
    kind,
    apiVersion,
    name: { group: kind.group, resource: kind.resource },
    collection: resource.collection,
    ...(resource.custom ? customForms(resource.custom, kind, forms) : sharedForms(resource.kind, kind, forms)),
    deprecation: deprecationOf(kind, resource.kinds),
    conversion,
    collectionKey: (namespace) => (inNamespace && namespace !== '' ? `${prefix}${namespace}/` : prefix),
    objectKey: (namespace, name) => (inNamespace ? `${prefix}${namespace}/${name}` : `${prefix}${name}`),
  };
}

/** How the objects of a version are read and written. */
type ObjectForms = Pick<
  ServedResource,
  'forms' | 'watchedForms' | 'written' | 'unselectable' | 'fromWritten' | 'toStored'
>;

const same = (object: ApiObject): ApiObject => object;
const asEncoded = (_object: ApiObject, encoded: Buffer): Buffer => encoded;

/** All versions of a built-in kind are written as the stored one. */
function sharedForms(stored: Kind, kind: Kind, before: VersionForms | undefined): ObjectForms {
  const { storedAs } = kind;
  const fromStored = storedAs && ((object: ApiObject) => canonical(kind, storedAs.fromStored(object)));
  const forms = before ?? (fromStored && new VersionForms({ type: 'now', convert: fromStored }));
  return {
    forms,
    watchedForms: forms,
    written: stored,
    unselectable: nothing,
    fromWritten: fromStored ?? same,
    toStored: asEncoded,
  };
}

function customForms(custom: CustomVersions, kind: Kind, before: VersionForms | undefined): ObjectForms {
  const [stored = kind] = custom.kinds;
  const convert = conversionTo(custom, kind);
  // Without others in the store, the objects of the stored version are read as they are.
  const differ = kind !== stored || custom.storedInOthers;
  const forms = before ?? new VersionForms(convert, kind);
  before?.change(convert);
  return {
    forms: differ ? forms : undefined,
    watchedForms: forms,
    written: kind,
    unselectable: unselectableIn(custom, kind),
    fromWritten: same,
    toStored:
      kind === stored ? asEncoded : (object, encoded, caller) => encodeAs(custom, stored, { object, encoded, caller }),
  };
}

const nothing: ReadonlySet<string> = new Set();

function unselectableIn({ kinds, webhook, storedInOthers }: CustomVersions, kind: Kind): ReadonlySet<string> {
  if (!webhook || kind.selectableFields.length === 0) return nothing;
  const stored = storedInOthers ? kinds : kinds.slice(0, 1);
  const isInAll = (label: string): boolean =>
    stored.every(({ selectableFields }) => selectableFields.some((field) => field.label === label));
  return new Set(kind.selectableFields.map(({ label }) => label).filter((label) => !isInAll(label)));
}

const conversionTo = (custom: CustomVersions, kind: Kind): ConvertStored =>
  custom.webhook
    ? { type: 'later', convert: (objects, caller) => convertAll(custom, objects, kind, caller) }
    : { type: 'now', convert: (object) => inVersion(object, kind), heavy: heavyTo(custom, kind) };

const heavyTo = ({ heavy }: CustomVersions, kind: Kind): HeavyConvert | undefined =>
  heavy && { takes: heavy.takes, convert: (stored, owner) => heavy.convert(stored, kind, owner) };

/** A stored value of any version of a custom resource, as it is to be stored now. */
export function inStoredVersion(
  { custom, kind }: Resource,
  value: Buffer,
  caller: ConversionCaller,
): Buffer | Promise<Buffer> {
  return custom ? encodeAs(custom, kind, { object: parseStored(value) as ApiObject, encoded: value, caller }) : value;
}

interface WrittenObject {
  readonly object: ApiObject;
  readonly encoded: Buffer;
  readonly caller: ConversionCaller;
}

function encodeAs(
  custom: CustomVersions,
  stored: Kind,
  { object, encoded, caller }: WrittenObject,
): Buffer | Promise<Buffer> {
  if (!custom.webhook) return encodeObject(inVersion(object, stored));
  const converting = askingFor(caller, () => convertAll(custom, [encoded], stored, caller));
  return converting.then(([converted]) => converted as Buffer);
}

/**
 * The text of kube-apiserver. It names the releases if the version has them, as built-in ones do, and the best version of
 * the group to use instead, if any.
 */
function deprecationOf(kind: Kind, kinds: readonly Kind[]): string | undefined {
  if (!kind.deprecated) return undefined;
  const { warning, release, removedRelease } = kind.deprecated;
  if (warning !== undefined) return warning;
  const since = release === undefined ? '' : ` in v${release}+`;
  const until = release === undefined || removedRelease === undefined ? '' : `, unavailable in v${removedRelease}+`;
  const better = kind.deprecated.namesNoOther ? undefined : bestVersion(kind, kinds);
  const instead = better && `; use ${apiVersionOf(better)} ${better.kind}`;
  return `${apiVersionOf(kind)} ${kind.kind} is deprecated${since}${until}${instead ?? ''}`;
}

/** The best version of the same group to use instead of a deprecated one. */
const bestVersion = (kind: Kind, kinds: readonly Kind[]): Kind | undefined =>
  kinds
    .filter((each) => each.group === kind.group && each.served !== false && !each.deprecated)
    .filter((each) => compareVersions(each.version, kind.version) < 0)
    .sort((a, b) => compareVersions(a.version, b.version))[0];

/** Converts by way of the stored form. */
function converter(kinds: readonly Kind[]): ObjectConversion {
  const byVersion = new Map(kinds.map((kind) => [apiVersionOf(kind), kind]));
  const convert: ConvertObject = (object, apiVersion) => {
    const [from, to] = [byVersion.get(String(object['apiVersion'])), byVersion.get(apiVersion)];
    if (!from || !to) return undefined;
    const stored = from.storedAs ? from.storedAs.toStored(object as ApiObject) : (object as ApiObject);
    return { schema: to.schema, object: to.storedAs ? to.storedAs.fromStored(stored) : stored };
  };
  return { type: 'now', convert };
}

function customConversion(custom: CustomVersions): ObjectConversion {
  const byVersion = new Map(custom.kinds.map((kind) => [apiVersionOf(kind), kind]));
  const target = ({ apiVersion: from }: Readonly<Record<string, unknown>>, apiVersion: string): Kind | undefined =>
    byVersion.has(String(from)) ? byVersion.get(apiVersion) : undefined;
  if (custom.webhook) {
    const convert = async (object: ApiObject, to: Kind, caller: ConversionCaller) => {
      const ask = () => convertAll(custom, [encodeVersioned(object)], to, caller);
      const [converted] = await askingFor(caller, ask);
      return { schema: to.schema, object: parseStored(converted as Buffer) as ApiObject };
    };
    const later: ConvertLater = (object, apiVersion, caller) => {
      const to = target(object, apiVersion);
      return to && convert(object as ApiObject, to, caller);
    };
    return { type: 'later', convert: later };
  }
  const now: ConvertObject = (object, apiVersion) => {
    const to = target(object, apiVersion);
    return to && { schema: to.schema, object: inVersion(object as ApiObject, to) };
  };
  return { type: 'now', convert: now };
}

/** The collection of a kind that is never stored. Every call is a programming error and throws. */
function neverStored({ kind }: Kind): Collection {
  const refuse = (): never => {
    throw new Error(`objects of kind ${kind} are never stored`);
  };
  return {
    prefix: '',
    form: undefined,
    get metrics() {
      return refuse();
    },
    get line() {
      return refuse();
    },
    get: refuse,
    decode: refuse,
    ready: refuse,
    snapshot: refuse,
    snapshotAt: refuse,
    watch: refuse,
    keepSlowWatches: refuse,
    hasLaggingWatches: false,
  };
}
