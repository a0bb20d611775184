import type { Caller } from '../base/caller.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Span } from '../base/span.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ObjectCache, RevisionLine } from '../cache/cache.ts';
import type { ParsedJson } from '../codec/json.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ValuePool } from '../kinds/allocation.ts';
import type { Counted, RuleWork } from '../kinds/kind.ts';
import type { KindServices } from '../kinds/services.ts';
import type { Admission } from '../request/admission.ts';
import type { AnnotationLevel } from '../request/audit-annotations.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { ResourceRegistry } from '../resources/resource-registry.ts';
import type { KeyStore, Revision } from '../store/store.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/** A revision, of the line that counts it. */
export interface PastState {
  readonly line: RevisionLine;
  readonly revision: Revision;
}

/** Dependencies shared by all verbs. */
export interface RegistryParts {
  readonly resources: ResourceRegistry;
  readonly store: KeyStore;
  /** Name of the store in traces, as in `--storage-backend`. Default: store. */
  readonly storeName?: string;
  readonly cache: ObjectCache;
  readonly admission: Admission;
  /** Services for kinds and actions that compute a response. Calls in progress end with the request. */
  readonly servicesFor: (request: Caller) => KindServices;
  /** Throws if the user may not create the object that the path names. */
  readonly requireCreate: (info: ResourceRequest, user: UserInfo, request: Caller) => Promise<void> | void;
  /** Throws if the user may not delete an object that cannot be read. */
  readonly requireUnsafeDelete: (info: ResourceRequest, user: UserInfo, request: Caller) => Promise<void> | void;
  /** Whether the namespace of this name at a past revision is the one that exists now (same uid). */
  readonly isSameNamespace: (name: string, at: PastState) => Promise<boolean> | boolean;
  /** Values that are given to objects of kinds that claim some: the pools as they are now. */
  readonly pools: () => readonly ValuePool[];
  /** Increases a counter of a kind. */
  readonly count: (counted: Counted) => void;
  /** Starts the clock for expressions of custom resources; call the result at the end. Default: nobody looks. */
  readonly timeRules?: ((work: RuleWork) => () => void) | undefined;
  /**
   * Others wait for this thread: a write whose checks would hold it too long rejects with LongWork before anything is written,
   * and is done on another one. What its admission has asked others is asked again there.
   */
  readonly inline?: boolean | undefined;
  /** Enabled feature gates. Fields of disabled features are dropped on write. */
  readonly features: ReadonlySet<string>;
  /** Feature gate `AllowUnsafeMalformedObjectDeletion`. */
  readonly unsafeDeletion: boolean;
  /** Watches without a client timeout end at random between one and two times this. Milliseconds. */
  readonly watchMsMin: number;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A parsed request body. */
export interface RequestBody extends ParsedJson {
  /** PATCH only: the patch format, by media type. */
  readonly patch?: PatchFormat;
}

/** One request for an API resource, after authentication and authorization. */
export interface VerbRequest {
  readonly info: ResourceRequest;
  readonly served: ServedResource;
  readonly user: UserInfo;
  /** The `User-Agent` header; '' if absent. */
  readonly userAgent: string;
  /** Undefined if the request has no body. */
  readonly body: RequestBody | undefined;
  /** Aborts when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal;
  /** See Caller. */
  readonly deadlineMs?: number | undefined;
  /** Long work takes turns between owners, see TimeSlice. Default: no owner. */
  readonly owner?: unknown;
  /** The operation under way, if the request is traced. */
  readonly span?: Span | undefined;
  /** See Caller. */
  awaitWebhook?<T>(ask: () => Promise<T>): Promise<T>;
  /** See Annotator. */
  annotate(key: string, value: string, from?: AnnotationLevel): string | undefined;
  /** The ID that log lines about the request carry. */
  readonly auditId?: string;
  /** Adds a `Warning` header (spec section 4.6). */
  warn(text: string): void;
  /**
   * Must be called before each write to the store: from then on the outcome of the request is uncertain. Throws if the
   * request was already answered because its deadline passed, since the client was told that nothing was written.
   */
  beforeWrite(): void;
}
