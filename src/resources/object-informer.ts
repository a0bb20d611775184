import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { CacheEntry, Collection, Watcher, WatchSink } from '../cache/cache.ts';
import { parseStored } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Revision } from '../store/store.ts';
import type { ServedResource } from './resource.ts';
import type { ResourceRegistry } from './resource-registry.ts';

/** A followed resource, which may be added or removed at run time. While not served it has no objects. */
interface FollowedResource {
  readonly resources: Pick<ResourceRegistry, 'onChange'>;
  /** Looks it up in the current table. */
  readonly find: () => ServedResource | undefined;
}

/** Receives the changes of one resource's objects. */
interface ObjectHandler {
  /**
   * Called with the new state of an object, for the handler to keep. The object is as stored: the handler throws if it
   * is invalid for its kind, and `remove` is called then.
   */
  put(object: ApiObject, served: ServedResource): void;
  /** Parses an object. Default: parses all of it. */
  read?(bytes: Buffer): ApiObject;
  /** True if `put` would ignore the object: it is removed instead, without being parsed. Absent: none is. */
  skips?(entry: CacheEntry): boolean;
  /** `namespace` is '' for cluster-scoped objects. May be called for unknown objects. */
  remove(namespace: string, name: string): void;
}

/** An in-process informer on the cache. Stops when closed. */
interface ObjectInformer extends Closable {
  /** The handler has seen all changes up to this revision. */
  readonly revision: Revision;
}

/**
 * Informs a handler of all objects of a resource: existing objects before it returns, later changes as the cache
 * applies them. Corrupt objects and those that the handler refuses are removed: they must grant nothing, and
 * must not block later changes.
 */
export function startInformer(followed: FollowedResource, handler: ObjectHandler, logger: Logger): ObjectInformer {
  const informer = new CacheInformer(followed, handler, logger);
  informer.start();
  return informer;
}

/**
 * The same for resources with very many objects: existing objects are delivered in time slices after it returns.
 * `synced` resolves when all were delivered; it never rejects.
 */
export function startSlicedInformer(
  followed: FollowedResource,
  handler: ObjectHandler,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ObjectInformer & { readonly synced: Promise<void> } {
  const informer = new CacheInformer(followed, handler, logger, clock);
  return Object.assign(informer, { synced: informer.startInSlices(clock) });
}

class CacheInformer implements ObjectInformer, WatchSink {
  readonly #find: FollowedResource['find'];
  readonly #table: Closable;
  readonly #handler: ObjectHandler;
  readonly #logger: Logger;
  /** Set if the handler is called in time slices. */
  readonly #clock: Clock | undefined;
  /** The entries that the handler has seen, by key. */
  readonly #known = new Map<string, CacheEntry>();
  /** The resource that `#known` belongs to. */
  #served: ServedResource | undefined;
  #watcher: Watcher | undefined;
  /** Number of resyncs so far; invalidates older ones. */
  #round = 0;
  #closed = false;

  constructor({ resources, find }: FollowedResource, handler: ObjectHandler, logger: Logger, clock?: Clock) {
    this.#find = find;
    this.#table = resources.onChange(() => this.#tableChanged());
    this.#handler = handler;
    this.#logger = logger;
    this.#clock = clock;
  }

  start(): void {
    for (const _ of this.#resync());
  }

  async startInSlices(clock: Clock): Promise<void> {
    const slice = new TimeSlice(clock);
    const steps = this.#resync();
    const round = this.#round;
    for (const _ of steps) {
      if (slice.over) await slice.next();
      if (this.#closed || round !== this.#round) return;
    }
  }

  /**
   * Resyncs with the current collection: removes objects that have gone, puts those that changed, then watches. One
   * step per object.
   */
  #resync(): Generator<void, void> {
    this.#round++;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#served = this.#find();
    return this.#steps(this.#served?.collection);
  }

  /** May be abandoned at any step and restarted. */
  *#steps(collection: Collection | undefined): Generator<void, void> {
    const snapshot = collection?.snapshot();
    const there = new Set<string>();
    for (const entry of snapshot?.entries(collection?.prefix ?? '') ?? []) {
      const known = this.#known.get(entry.key);
      there.add(entry.key);
      this.#known.set(entry.key, entry);
      if (known?.revision !== entry.revision) this.#put(entry);
      yield;
    }
    for (const [key, { namespace, name }] of this.#known) {
      if (there.has(key)) continue;
      this.#known.delete(key);
      this.#handler.remove(namespace, name);
    }
    if (snapshot) this.#watcher = collection?.watch({ after: snapshot.revision, immediate: true }, this);
  }

  #tableChanged(): void {
    if (this.#find()?.collection !== this.#served?.collection) this.#restart();
  }

  #restart(): void {
    if (this.#clock) void this.startInSlices(this.#clock);
    else this.start();
  }

  #read(bytes: Buffer): ApiObject {
    return this.#handler.read?.(bytes) ?? (parseStored(bytes) as ApiObject);
  }

  #put(entry: CacheEntry): void {
    try {
      if (this.#handler.skips?.(entry)) this.#handler.remove(entry.namespace, entry.name);
      else if (this.#served) this.#handler.put(this.#read(entry.bytes), this.#served);
    } catch (error) {
      const { key, revision, namespace, name } = entry;
      const problem = error instanceof Error ? error.message : String(error);
      this.#logger.error('a stored object is invalid for its kind and is ignored', {
        key,
        revision,
        problem,
      });
      this.#handler.remove(namespace, name);
    }
  }

  event({ type, entry }: Parameters<WatchSink['event']>[0]): boolean {
    if (type === 'DELETED') {
      this.#known.delete(entry.key);
      this.#handler.remove(entry.namespace, entry.name);
    } else {
      this.#known.set(entry.key, entry);
      this.#put(entry);
    }
    return true;
  }

  closed(reason: Parameters<WatchSink['closed']>[0]): void {
    if (reason === 'closed') return;
    // Deferred, so as not to restart inside the call that ended the watch.
    queueMicrotask(() => {
      if (!this.#closed) this.#restart();
    });
  }

  get revision(): Revision {
    // A resource that is not served has no changes to miss.
    return this.#served ? (this.#watcher?.revision ?? 0) : Number.POSITIVE_INFINITY;
  }

  close(): void {
    this.#closed = true;
    this.#table.close();
    this.#watcher?.close();
  }
}
