import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import { TimeSlice } from '../../base/time-slice.ts';
import type { CacheEntry, Collection, Watcher, WatchSink } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { Revision } from '../../store/store.ts';

/** A resource that may come and go while it is followed. Where it is not served it has no objects. */
interface FollowedResource {
  readonly resources: Pick<ResourceRegistry, 'onChange'>;
  /** As the table is now. */
  readonly find: () => ServedResource | undefined;
}

/** What an informer tells of the objects of one resource. */
interface ObjectHandler {
  /**
   * A new object, or the new state of one, for the handler to keep. It is as stored: the handler throws where it is not what
   * its kind says, and is then told to remove it.
   */
  put(object: ApiObject, served: ServedResource): void;
  /** `namespace` is '' for cluster-scoped objects. An object that is not known may be told too. */
  remove(namespace: string, name: string): void;
}

/** An informer in this process, on the cache. Ends when it is closed. */
interface ObjectInformer extends Closable {
  /** The handler knows all changes up to this revision. */
  readonly revision: Revision;
}

/**
 * Tells a handler of all objects of a resource: of those that exist before it returns, then of every change when the cache
 * tells its watchers. A corrupt object is removed, and so is one that the handler refuses: it grants nothing, and must not
 * keep the handler from what comes after it.
 */
export function startInformer(followed: FollowedResource, handler: ObjectHandler, logger: Logger): ObjectInformer {
  const informer = new CacheInformer(followed, handler, logger);
  informer.start();
  return informer;
}

/**
 * The same for resources with very many objects: those that are there are told in slices of time, after this returns. `told`
 * resolves when all were; it never rejects.
 */
export function startSlicedInformer(
  followed: FollowedResource,
  handler: ObjectHandler,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ObjectInformer & { readonly told: Promise<void> } {
  const informer = new CacheInformer(followed, handler, logger, clock);
  return Object.assign(informer, { told: informer.startInSlices(clock) });
}

class CacheInformer implements ObjectInformer, WatchSink {
  readonly #find: FollowedResource['find'];
  readonly #table: Closable;
  readonly #handler: ObjectHandler;
  readonly #logger: Logger;
  /** Present where the handler is told in slices. */
  readonly #clock: Clock | undefined;
  /** What the handler was told of, by key. */
  readonly #known = new Map<string, CacheEntry>();
  /** Where that is. */
  #served: ServedResource | undefined;
  #watcher: Watcher | undefined;
  /** Counts how often it was brought in step anew. */
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
    for (const _ of this.#bringInStep());
  }

  async startInSlices(clock: Clock): Promise<void> {
    const slice = new TimeSlice(clock);
    const steps = this.#bringInStep();
    const round = this.#round;
    for (const _ of steps) {
      if (slice.over) await slice.next();
      if (this.#closed || round !== this.#round) return;
    }
  }

  /**
   * From the collection as it is now: what has gone meanwhile is removed, what has changed is put, and then what changes is
   * followed. One step for each object.
   */
  #bringInStep(): Generator<void, void> {
    this.#round++;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#served = this.#find();
    return this.#steps(this.#served?.collection);
  }

  /** It may be left at any step, and begun anew. */
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
    if (snapshot) this.#watcher = collection?.watch({ after: snapshot.revision }, this);
  }

  #tableChanged(): void {
    if (this.#find()?.collection !== this.#served?.collection) this.#beginAnew();
  }

  #beginAnew(): void {
    if (this.#clock) void this.startInSlices(this.#clock);
    else this.start();
  }

  #put(entry: CacheEntry): void {
    try {
      if (this.#served) this.#handler.put(parseStored(entry.bytes) as ApiObject, this.#served);
    } catch (error) {
      const { key, revision, namespace, name } = entry;
      const problem = error instanceof Error ? error.message : String(error);
      this.#logger.error('a stored object is not what its kind says; it is left out of account', {
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
    // Not in the middle of what ended the watch.
    queueMicrotask(() => {
      if (!this.#closed) this.#beginAnew();
    });
  }

  get revision(): Revision {
    // Of what is not served everything is known.
    return this.#served ? (this.#watcher?.revision ?? 0) : Number.POSITIVE_INFINITY;
  }

  close(): void {
    this.#closed = true;
    this.#table.close();
    this.#watcher?.close();
  }
}
