import type { CellSource } from '../codec/table.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { FieldError } from '../meta/field-error.ts';
import type { SelectableField } from '../meta/selectable-field.ts';
import type { ResourceVerb } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { KindServices } from './services.ts';

/** Times for which the server is configured to keep objects. */
export type TimeToLive = 'event';

export interface GroupVersionKind {
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What a strategy may look at beside the objects. It never reads the store: what it needs is given to it. */
export interface StrategyContext {
  readonly dialect: Dialect;
  readonly user: UserInfo;
  /** Wall-clock milliseconds. */
  readonly now: number;
  /** The version in which the client writes. The objects are in the stored form. */
  readonly requested: Pick<GroupVersionKind, 'group' | 'version'>;
}

/**
 * The rules of one kind that its schema cannot say. Called on the write path, in the order of the members, after
 * decoding, pruning and schema defaults, and before the schema's own validation. `object` is the caller's copy and may
 * be changed by the `prepare` functions only; `old` is what is stored and is never changed.
 */
export interface Strategy {
  /** Defaults that depend on other fields. Runs on create, and on every update before `prepareForUpdate`. */
  readonly default?: (object: ApiObject, context: StrategyContext) => void;
  /** Clears and sets what the client may not: status of a new object, generated fields. */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly validateCreate?: (object: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Puts back what this endpoint may not change. The status of kinds with a `status` subresource is put back before. */
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** What no update may do, whichever door it comes through: the object itself, a view of it, or an action on it. */
  readonly validateEveryUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Texts for `Warning` headers. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[];
  /**
   * How long a deletion waits, in seconds; 0 or absent: at once. `requested` is the client's gracePeriodSeconds.
   */
  readonly gracePeriodSeconds?: (object: ApiObject, requested: number | undefined) => number;
  /** Changes an object that now waits for its deletion: a namespace's phase. */
  readonly prepareForDelete?: (object: ApiObject, context: StrategyContext) => void;
  /** What holds a deletion back beside `metadata.finalizers`: a namespace's `spec.finalizers`. */
  readonly finalizers?: (object: ApiObject) => readonly string[];
}

/** A second door to the same stored object: `status`, `ephemeralcontainers`, `approval`, `finalize`. */
export interface ViewSubresource {
  readonly type: 'view';
  readonly name: string;
  readonly verbs: readonly ('get' | 'update' | 'patch')[];
  /** Makes `object`, as the client sent it, into `old` with only the fields of this door changed. */
  readonly prepareForUpdate: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => readonly FieldError[];
}

/** What objects are answered with that are not stored themselves. */
export interface AnswerContext extends StrategyContext {
  readonly services: KindServices;
  /** Adds a `Warning` header. */
  warn(text: string): void;
}

/**
 * What an action may do to the object it was called on. Writes run the write path of the registry but for admission, which
 * the body has been through.
 */
export interface ActionTarget {
  readonly namespace: string;
  readonly name: string;
  /** The object, not older than any write acknowledged before the call. Not found is an error. */
  read(): Promise<ApiObject>;
  /**
   * Reads, changes and writes the object; retried after a lost race. `resourceVersion` is that of what was read. Not found is
   * an error.
   */
  update(change: (object: ApiObject, resourceVersion: string) => void): Promise<ApiObject>;
  delete(options: ApiObject): Promise<void>;
}

/** A verb that has a body of its own kind: `binding`, `eviction`, `token`. */
export interface ActionSubresource {
  readonly type: 'action';
  readonly name: string;
  /** The kind of the body. */
  readonly body: GroupVersionKind & { readonly schema: StructSchema };
  /** It changes nothing in the store: it does not take a place from requests that do. */
  readonly writesNothing?: boolean;
  /** The body's `uid` and other fields that are the server's to set mean something to the action. */
  readonly keepsServerMetadata?: boolean;
  /** Fills in, between mutating admission and validation, what the client left out. May refuse. */
  readonly prepare?: (body: ApiObject, target: ActionTarget, context: AnswerContext) => Promise<void> | void;
  /** What the schema cannot say. */
  readonly validate?: (body: ApiObject) => readonly FieldError[];
  /** Runs after admission and validation of the body. What it returns is the answer, with status 201. */
  readonly create: (body: ApiObject, target: ActionTarget, context: AnswerContext) => Promise<ApiObject>;
}

export type Subresource = ViewSubresource | ActionSubresource;

/** A column of the table form (spec section 4.3). */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format: '' | 'name' | 'date' | 'date-time' | 'int32' | 'int64';
  readonly description: string;
  /** 0 is always shown, more only in wide output. */
  readonly priority: number;
  /** A path wherever one can say it, as in custom resources. */
  readonly value: CellSource;
}

/**
 * How objects of a kind are kept in the form of another one: several kinds, of one group or of several, may be versions of the
 * same resource. What both forms can say is converted exactly, both ways.
 */
export interface StoredAs {
  /** The kind whose form is stored. Its strategy and prefix of keys are those of the resource. */
  readonly kind: Kind;
  /** Converts the fields that are there, and adds none: also objects of which only a part is left. */
  readonly toStored: (object: ApiObject) => ApiObject;
  readonly fromStored: (object: ApiObject) => ApiObject;
  /** What the stored kind calls a selectable field of this version. */
  readonly storedLabel: (label: string) => string;
  /** Names of top-level fields and those that are stored, where nothing else differs. */
  readonly names?: Readonly<Record<string, string>>;
  /** What this version calls a field of the stored form, by its path in an error. */
  readonly versionPath: (path: string) => string;
}

/** What a client is told that uses a version which it should not. */
interface Deprecation {
  /** In place of the usual text. */
  readonly warning?: string;
  /** The release without it: `1.25`. */
  readonly removedRelease?: string;
}

/** All that the server knows of one kind of object. Registry, codecs and merges work on this and never name a kind. */
export interface Kind extends GroupVersionKind {
  readonly listKind: string;
  /** Plural, lower case: the path segment. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly schema: StructSchema;
  /** The feature without which this version is not served. */
  readonly gate?: string;
  /** Requests do not find it. Other versions may be kept in its form, and objects name it as the version of their writers. */
  readonly served?: false;
  /** Clients are to use another version. */
  readonly deprecated?: Deprecation;
  /** Absent where objects are stored as they are. */
  readonly storedAs?: StoredAs;
  /** Rule for `metadata.name`. */
  readonly nameFormat: 'dnsLabel' | 'dnsSubdomain' | 'pathSegment';
  /** Beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly SelectableField[];
  readonly columns: readonly Column[];
  /**
   * Of kinds that are created and never stored (spec section 5.7: access reviews). Takes an object that has been through
   * admission and validation, and gives what is answered, with status 201. No other verb is served, and of the strategy
   * only `default`, `validateCreate` and `warnings` are asked.
   */
  readonly answer?: (object: ApiObject, context: AnswerContext) => Promise<ApiObject> | ApiObject;
  /**
   * Of kinds that are created to act on an object of another resource of their group and version, and never stored: the action
   * runs on the object that has the name of the body. No other verb is served.
   */
  readonly acts?: { readonly on: string; readonly action: ActionSubresource };
  readonly strategy: Strategy;
  readonly subresources: readonly Subresource[];
  /** PUT of an absent object creates it (spec section 4.2). */
  readonly createOnUpdate: boolean;
  /** Objects go by themselves when they have not been written for this time. Absent: they stay. */
  readonly timeToLive?: TimeToLive;
  /** Verbs that are not served although other kinds have them. */
  readonly withoutVerbs?: readonly ResourceVerb[];
  /** PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** A deletion answers with the object instead of a Status (spec section 4.2, ServiceAccount). */
  readonly deleteReturnsObject: boolean;
  /** `metadata.generation` counts changes outside metadata and status. */
  readonly generation: boolean;
}

/** False for kinds that are answered or act on others: none of their objects is ever stored. */
export const storesObjects = ({ answer, acts }: Pick<Kind, 'answer' | 'acts'>): boolean =>
  answer === undefined && acts === undefined;
