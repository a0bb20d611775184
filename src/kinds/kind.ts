import type { MetricDefinition } from '../base/metrics.ts';
import type { CellSource, RowCondition } from '../codec/table.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { FieldError } from '../meta/field-error.ts';
import type { SelectableField } from '../meta/selectable-field.ts';
import type { ResourceName, Status } from '../meta/status-error.ts';
import type { PatchType } from '../patch/apply-patch.ts';
import type { ResourceVerb } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Claim, Pools } from './allocation.ts';
import type { KindServices } from './services.ts';
import type { Validation } from './validation.ts';

/** Names of the configurable times to live. */
export type TimeToLive = 'event';

export interface GroupVersionKind {
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Context of strategy calls. A strategy never reads the store; everything it needs is here or in its arguments. */
export interface StrategyContext {
  readonly dialect: Dialect;
  readonly user: UserInfo;
  /** Wall-clock milliseconds. */
  readonly now: number;
  /** Others wait for this thread: validation may throw LongWork, and is then called on another one. */
  readonly inline?: boolean | undefined;
  /** See `RegistryParts`. */
  readonly timeRules?: ((work: RuleWork) => () => void) | undefined;
  /** Enabled feature gates. Default: none. Fields of others are dropped before. */
  readonly features?: ReadonlySet<string>;
  /** Adds a `Warning` header, in `prepareForCreate`: of what the object shows no more when it has been prepared. Equal ones are one. */
  readonly warn?: (text: string) => void;
  /** The version that the client writes. The objects passed to the strategy are in the stored form. */
  readonly requested: Pick<GroupVersionKind, 'group' | 'version'>;
}

/** What takes time with expressions of custom resources. */
export type RuleWork = 'compilation' | 'evaluation';

/** An increase of one of a kind's own counters by one. Plain data, as it may come from another thread. */
export interface Counted {
  readonly counter: MetricDefinition<string>;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Rules of one kind that its schema cannot express, like the strategies of kube-apiserver. Called on the write path in the
 * order of the members, after decoding, pruning and schema defaults, and before schema validation. `default` and the
 * `prepare` functions modify `object` in place, others must not; `old` is the stored object and must never be modified.
 */
export interface Strategy {
  /** Defaults that depend on other fields. Runs on create, after `completeNew`, and on every update before `prepareForUpdate`. */
  readonly default?: (object: ApiObject, context: StrategyContext) => void;
  /** Clears or sets fields that the client may not set: status of a new object, generated fields. */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  /**
   * Fills in what the server chooses or keeps of the stored object (`old`; undefined of a new one), and drops what goes with
   * it. Runs after mutating admission and before validation, of writes to the object itself. The errors are all that is told of
   * the object; AllocationFailure is told as an internal error.
   */
  readonly allocate?: (object: ApiObject, old: ApiObject | undefined, pools: Pools) => Promise<readonly FieldError[]>;
  /** Sets what follows from the name and the uid of a new object, which it has only after mutating admission. */
  readonly completeNew?: (object: ApiObject, context: StrategyContext) => void;
  readonly validateCreate?: (object: ApiObject, context: StrategyContext) => Validation;
  /** Restores fields that this endpoint may not change. For kinds with a `status` subresource, status is already restored. */
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => Validation;
  /** Validation of updates through any endpoint: the object itself, its views and its actions. */
  readonly validateEveryUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => Validation;
  /** Counters to be increased for an update that was stored, through any endpoint and on any thread. */
  readonly countUpdate?: (object: ApiObject, old: ApiObject) => readonly Counted[];
  /** Texts for `Warning` headers. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[];
  /**
   * Grace period of a deletion, in seconds; 0 or undefined: immediate. `requested` is the client's gracePeriodSeconds.
   */
  readonly gracePeriodSeconds?: (object: ApiObject, requested: number | undefined) => number;
  /** A deletion that has to wait sets the deletion timestamp, but neither a grace period nor a new generation. */
  readonly marksDeletionTimeOnly?: true;
  /** Modifies an object when its deletion starts but has to wait: a namespace's phase. */
  readonly prepareForDelete?: (object: ApiObject, context: StrategyContext) => void;
  /** Finalizers in addition to `metadata.finalizers`: a namespace's `spec.finalizers`. */
  readonly finalizers?: (object: ApiObject) => readonly string[];
}

/** A subresource that is a restricted endpoint to the same stored object: `status`, `ephemeralcontainers`, `finalize`. */
export interface ViewSubresource {
  readonly type: 'view';
  readonly name: string;
  readonly verbs: readonly ('get' | 'update' | 'patch')[];
  /**
   * The only fields that this subresource writes, as names at the top of the object; metadata stays as well. New objects
   * are stored without them. In the place of `prepareForUpdate`, so that the kind is data.
   */
  readonly fields?: readonly string[];
  /** Turns `object`, as sent by the client, into `old` plus changes of the fields that this subresource may change. */
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /**
   * Fields that this subresource does not change, as property names from the object, so that their writer does not come to
   * own them. Default: all but `fields`; without them, for `status` all but itself and metadata, else `status`.
   */
  readonly resetFields?: readonly (readonly string[])[];
  /** Keeps fields whose feature gate is off: the published endpoint looks at no gates. */
  readonly keepsGatedFields?: true;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => Validation;
}

/** Context of answered kinds and actions. */
export interface AnswerContext extends StrategyContext {
  readonly services: KindServices;
  /** Adds a `Warning` header. */
  warn(text: string): void;
}

/**
 * Operations of an action on the object it was called on. Writes run the write path of the registry without admission,
 * because the body of the action has already passed admission.
 */
export interface ActionTarget {
  readonly namespace: string;
  readonly name: string;
  /** The request asks that nothing is stored. */
  readonly dryRun: boolean;
  /** A consistent read: includes every write acknowledged before the call. Rejects if the object is not found. */
  read(): Promise<ApiObject>;
  /**
   * Read-modify-write, retried on conflict. `resourceVersion` is that of the object read. Rejects if the object is not
   * found.
   */
  update(change: (object: ApiObject, resourceVersion: string) => void): Promise<ApiObject>;
  /** Rejects if the object is not found, or does not meet the preconditions of the options. */
  delete(options: ApiObject): Promise<void>;
  /** Objects of another kind in the namespace of this one for which `holds` does. As fresh as `read`. */
  related(of: RelatedResource, holds: (object: ApiObject) => boolean): Promise<readonly ApiObject[]>;
  /**
   * As `update`, for the status of such an object. The server owns what it changes, whoever asked for the action. `dryRun`: store
   * nothing, even if the request is none.
   */
  updateStatus(
    of: RelatedResource,
    name: string,
    change: (object: ApiObject) => void,
    options: { readonly dryRun: boolean },
  ): Promise<void>;
}

/** A resource whose objects an action looks at beside its own. */
export interface RelatedResource extends ResourceName {
  readonly version: string;
}

/** A subresource that is an operation, with a body of its own kind: `binding`, `eviction`, `token`. */
export interface ActionSubresource {
  readonly type: 'action';
  readonly name: string;
  /** The kind of the body, and further versions in which it may be sent, with the same fields. Admission sees the first one. */
  readonly body: GroupVersionKind & {
    readonly schema: StructSchema;
    readonly alsoFrom?: readonly Pick<GroupVersionKind, 'group' | 'version'>[];
  };
  /** The action does not write to the store, so it takes no place from mutating requests. */
  readonly writesNothing?: boolean;
  /** Keeps server-set metadata in the body, such as `uid`, which the action uses. Default: it is cleared. */
  readonly keepsServerMetadata?: boolean;
  /** Sets defaults of the body, after mutating admission and before validation. May throw to reject the request. */
  readonly prepare?: (body: ApiObject, target: ActionTarget, context: AnswerContext) => Promise<void> | void;
  /** Rules that the schema cannot express. */
  readonly validate?: (body: ApiObject) => readonly FieldError[];
  /** Runs the action, after admission and validation of the body. Returns the response: an object, sent with 201, or a Status. */
  readonly create: (body: ApiObject, target: ActionTarget, context: AnswerContext) => Promise<ApiObject | Status>;
}

/**
 * The subresource `scale`: the number of replicas of an object as a Scale of the group autoscaling. Writing it changes
 * nothing else. Paths are names of fields from the stored object.
 */
export interface ScaleSubresource {
  readonly type: 'scale';
  readonly name: 'scale';
  readonly verbs: readonly ('get' | 'update' | 'patch')[];
  /** The wanted number. An object without it has no Scale to read, but one to write. */
  readonly specReplicas: readonly string[];
  /** The actual number; absent is 0. */
  readonly statusReplicas: readonly string[];
  /** The selector of what is counted, as text. */
  readonly labelSelector?: readonly string[];
  /**
   * Form of the selector in a kind whose schema gives these fields their types and checks them. Default: it is text, and the
   * schema may say anything.
   */
  readonly selectorForm?: 'labels' | 'labelSelector';
  /** How errors name a Scale that is not there to be read, and one that a patch is not for. Default: as the object. */
  readonly absentName?: ResourceName;
  readonly patchedName?: ResourceName;
  /** Columns of a Scale in a table. Default: those of the kind. */
  readonly columns?: readonly Column[];
}

/**
 * A subresource behind which is a process elsewhere: the log of a container, a shell in it, a port of a pod, an agent of a node. The
 * kind says where that is; the server carries the bytes.
 */
export interface ConnectSubresource {
  readonly type: 'connect';
  readonly name: string;
  readonly verbs: readonly ('get' | 'create' | 'update' | 'patch' | 'delete')[];
  /**
   * `text`: read like an object and answered as plain text; not admitted. `upgrade`: nothing but an upgraded connection.
   * `proxy`: any request to any path below, upgraded or not.
   */
  readonly carries: 'text' | 'upgrade' | 'proxy';
  /** Kind of the options, which are query parameters. Admission sees them as the object that is connected. */
  readonly options: GroupVersionKind & { readonly schema: StructSchema };
  readonly validate?: (options: ApiObject, context: ConnectContext) => readonly FieldError[];
  /** Where to connect to. Rejects if the object cannot be connected to; undefined: there is nothing to read yet. */
  readonly locate: (
    options: ApiObject,
    target: ConnectTarget,
    context: ConnectContext,
  ) => Promise<Destination | undefined>;
}

/** The object of a connection, as the path names it: `name` may carry a scheme and a port (`https:name:port`). */
export interface ConnectTarget {
  readonly namespace: string;
  readonly name: string;
  /** A consistent read of the object of that name. Rejects if it is not found. */
  read(name: string): Promise<ApiObject>;
}

export interface ConnectContext {
  readonly services: KindServices;
  /** Enabled feature gates. */
  readonly features: ReadonlySet<string>;
}

/** A server that a client is connected to. */
export interface Destination {
  readonly scheme: 'http' | 'https';
  /** An IP address or a host name, as reported: it is resolved and checked before anything is sent. */
  readonly host: string;
  readonly port: number;
  /** Percent-encoded; '' is the root without a slash. */
  readonly path: string;
  /** Without the question mark. Default: the query of the request. */
  readonly query?: string;
  /** `agent`: the server's own certificate for agents, and their authorities. `anyone`: none, and any certificate is accepted. */
  readonly trust: 'agent' | 'agentUnverified' | 'anyone';
}

export type Subresource = ViewSubresource | ActionSubresource | ScaleSubresource | ConnectSubresource;

/** A column of Table responses (spec section 4.3). */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format: '' | 'name' | 'date' | 'date-time' | 'int32' | 'int64';
  readonly description: string;
  /** 0 is always shown, higher values only in wide output. */
  readonly priority: number;
  /** A JSON path where possible, as in custom resources. */
  readonly value: CellSource;
}

/**
 * Conversion of a kind that is stored in the form of another kind. Several kinds, of one or more groups, may be versions
 * of the same resource. Fields that exist in both forms convert without loss in both directions.
 */
export interface StoredAs {
  /** The stored kind. Its strategy and store key prefix are those of the resource. */
  readonly kind: Kind;
  /** Converts the fields that are present and adds none, so it also works for partial objects. */
  readonly toStored: (object: ApiObject) => ApiObject;
  readonly fromStored: (object: ApiObject) => ApiObject;
  /** The stored kind's name of a selectable field of this version. */
  readonly storedLabel: (label: string) => string;
  /** Top-level field names of this version and of the stored kind, if nothing else differs. */
  readonly names?: Readonly<Record<string, string>>;
  /** Translates the path of an error from the stored form to this version. */
  readonly versionPath: (path: string) => string;
}

/** Deprecation of a version, for the `Warning` header. */
interface Deprecation {
  /** Replaces the standard text. */
  readonly warning?: string;
  /** The release that deprecated the version: `1.22`. Custom resources have none. */
  readonly release?: string;
  /** The release that removes the version: `1.25`. */
  readonly removedRelease?: string;
  /** The warning names no version to use instead. */
  readonly namesNoOther?: true;
}

/** Complete description of one kind of object. Registry, codecs and merges are driven by it and never name a kind. */
export interface Kind extends GroupVersionKind {
  readonly listKind: string;
  /** Plural, lower case: the path segment. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly schema: StructSchema;
  /** Feature gate; while it is off, this version is not served. */
  readonly gate?: string;
  /** Alpha and beta versions: served only if `--runtime-config` enables them (spec section 9). */
  readonly offByDefault?: true;
  /** Not served to clients. Other versions may be stored in its form, and managedFields may refer to it. */
  readonly served?: false;
  /** Version that the hash of the storage version is made of, where kube-apiserver stores another one. Default: the stored version. */
  readonly hashedVersion?: string;
  /** Set if clients should use another version. */
  readonly deprecated?: Deprecation;
  /** Absent if objects are stored in the form of this kind. */
  readonly storedAs?: StoredAs;
  /** What a new object without a name is called. Default: it is invalid. */
  readonly nameIfNone?: 'uuid';
  /** Format of `metadata.name`. */
  readonly nameFormat: 'canonicalIp' | 'dnsLabel' | 'dns1035Label' | 'dnsSubdomain' | 'pathSegment';
  /** Fields for field selectors, in addition to `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly SelectableField[];
  readonly columns: readonly Column[];
  /** What rows of tables are marked with. Default: nothing. */
  readonly rowConditions?: (object: ApiObject) => readonly RowCondition[];
  /**
   * For kinds that are answered and never stored (spec section 5.7: access reviews). Takes an object after admission and
   * validation and returns the response object, sent with status 201. Only `create` is served, and only `default`,
   * `validateCreate` and `warnings` of the strategy are called.
   */
  readonly answer?: (object: ApiObject, context: AnswerContext) => Promise<ApiObject> | ApiObject;
  /**
   * For kinds whose objects are what the server observes, and never stored (component statuses): all of them, in order of
   * their names. Only `get` and `list` are served.
   */
  readonly observe?: (context: AnswerContext) => Promise<readonly ApiObject[]>;
  /**
   * For kinds that act on an object of another resource of the same group and version and are never stored (core
   * `bindings`): creating one runs the action on the object with the name in the body. Only `create` is served.
   */
  readonly acts?: { readonly on: string; readonly action: ActionSubresource };
  readonly strategy: Strategy;
  /** Values that an object holds alone in its scope. Absent: none. */
  readonly claims?: (object: ApiObject) => readonly Claim[];
  /** Resources of the same group of which the object of the same name goes with an object. Only of kinds with `claims`. */
  readonly takesAlong?: readonly string[];
  /** Its objects show claims (`Claim.shown`), with which they are written. */
  readonly showsClaims?: true;
  /**
   * Nothing that the server decides about other kinds rests on these objects. Where they have a store of their own
   * (`--etcd-servers-overrides`), requests for other kinds do not wait for it.
   */
  readonly decidesNothing?: true;
  readonly subresources: readonly Subresource[];
  /** Objects that exist after every start: what is missing is created, what is there stays as it is. */
  readonly initialObjects?: readonly ApiObject[];
  /** Names of those among them that come back within a minute when somebody deletes them. Default: none; they come back at the next start. */
  readonly keptObjects?: readonly string[];
  /** Objects that nobody can delete. Deletions of a collection leave them out. */
  readonly undeletable?: { readonly names: readonly string[]; readonly reason: string };
  /** PUT of an absent object creates it (spec section 4.2). */
  readonly createOnUpdate: boolean;
  /** Objects expire this long after their last write. Default: never. */
  readonly timeToLive?: TimeToLive;
  /** Standard verbs that are not served for this kind. */
  readonly withoutVerbs?: readonly ResourceVerb[];
  /**
   * Finalizers without a domain, other than the standard ones, are errors, or get a `Warning` when they are added. Default:
   * nothing is said of them, as of the kinds of which kube-apiserver says nothing.
   */
  readonly finalizersWithoutDomain?: 'refused' | 'warned';
  /** Patches that are not served for this kind. */
  readonly withoutPatches?: readonly PatchType[];
  /** Of a custom resource that is being removed: nothing is created, and discovery shows reads and deletions only. */
  readonly terminating?: boolean;
  /** PUT without a resourceVersion overwrites the object unconditionally. */
  readonly unconditionalUpdate: boolean;
  /** DELETE returns the object instead of a Status (spec section 4.2, ServiceAccount). */
  readonly deleteReturnsObject: boolean;
  /**
   * The server maintains `metadata.generation`: it counts changes outside metadata, and outside status where that has an
   * endpoint of its own.
   */
  readonly generation: boolean;
  /** Metadata that the generation counts too: annotations that are copied to what is made from the object, labels that say whose it is. */
  readonly generationCounts?: 'annotations' | 'labels';
  /** A deletion that does not say otherwise leaves the dependents. `warning` is the text for those that do not say. */
  readonly orphansByDefault?: { readonly warning?: string };
  /** Its objects own no others: a deletion is never about dependents. */
  readonly ownsNothing?: boolean;
}

/** False for kinds with `answer`, `acts` or `observe`, whose objects are never stored. */
export const storesObjects = ({ answer, acts, observe }: Pick<Kind, 'answer' | 'acts' | 'observe'>): boolean =>
  answer === undefined && acts === undefined && observe === undefined;

/** Whether lists of the kind are served. */
export const hasLists = (kind: Kind): boolean => storesObjects(kind) || kind.observe !== undefined;
