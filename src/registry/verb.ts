import type { Caller } from '../base/caller.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { WatchCache } from '../cache/cache.ts';
import type { ParsedJson } from '../codec/json.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { KindServices } from '../kinds/services.ts';
import type { Admission } from '../request/admission.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { ResourceRegistry } from '../resources/resource-registry.ts';
import type { Revision, Store } from '../store/store.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/** What every verb works with. */
export interface RegistryParts {
  readonly resources: ResourceRegistry;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly admission: Admission;
  /** What answered kinds and actions ask on behalf of a request: what is under way for it ends with it. */
  readonly servicesFor: (request: Caller) => KindServices;
  /** Refuses, by throwing, a request that would create the object of its path but may not. */
  readonly requireCreate: (info: ResourceRequest, user: UserInfo, request: Caller) => Promise<void> | void;
  /** Refuses, by throwing, a deletion that ignores that its object cannot be read, where the user may not do so. */
  readonly requireUnsafeDelete: (info: ResourceRequest, user: UserInfo, request: Caller) => Promise<void> | void;
  /** Whether the namespace of that name was, at a past revision, the one that is there now. */
  readonly isSameNamespace: (name: string, at: Revision) => Promise<boolean> | boolean;
  /** Names of the features that are on: fields of others are not written. */
  readonly features: ReadonlySet<string>;
  /** Gate `AllowUnsafeMalformedObjectDeletion`. */
  readonly unsafeDeletion: boolean;
  /** A watch whose client names no time ends at random between this and twice this. Milliseconds. */
  readonly watchMsMin: number;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A body as it was read. */
export interface RequestBody extends ParsedJson {
  /** With PATCH: what kind of patch the document is, by its media type. */
  readonly patch?: PatchFormat;
  /** Paths of fields that were dropped already, since the format has no names for them. */
  readonly unknown?: readonly string[];
}

/** One request for objects, after authentication and authorization. */
export interface VerbRequest {
  readonly info: ResourceRequest;
  readonly served: ServedResource;
  readonly user: UserInfo;
  /** What the client calls itself; '' where it does not say. */
  readonly userAgent: string;
  /** The decoded body; undefined where none was sent. */
  readonly body: RequestBody | undefined;
  /** Aborts when the client is gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** For whom the request is: long work of owners takes turns. Absent: it has no share with others. */
  readonly owner?: unknown;
  /** See Annotator. */
  annotate(key: string, value: string): string | undefined;
  /** Adds a `Warning` header (spec section 4.6). */
  warn(text: string): void;
  /**
   * To be called before each write is sent to the store. From then on nobody can say that the request did nothing. Throws
   * where the request was answered already, since its deadline has passed: what was said to be undone stays so.
   */
  beforeWrite(): void;
}
