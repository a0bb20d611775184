import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { CacheEntry, Watcher, WatchSink } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';

/** What is kept up to date with the objects of one resource. */
interface ObjectFollower {
  /**
   * A new object, or the new state of one. It is the follower's own. As it is stored: where it is not what its kind says,
   * this throws, and the follower is told to forget it.
   */
  put(object: ApiObject): void;
  /** `namespace` is '' for cluster-scoped objects. An object that is not known may be told too. */
  remove(namespace: string, name: string): void;
}

/** Ends when it is closed. */
interface ObjectFollowing extends Closable {
  /** Everything up to this revision was told. */
  readonly revision: Revision;
}

/**
 * Tells a follower of all objects of a resource: of those that are there before it returns, then of every change, as soon as
 * the cache tells its watchers. An object that became corrupt is removed, and so is one that the follower cannot take: what
 * nobody can read grants nothing, and must not keep the follower from what comes after it.
 */
export function followObjects(served: ServedResource, follower: ObjectFollower, logger: Logger): ObjectFollowing {
  const feed = new ObjectFeed(served, follower, logger);
  feed.start();
  return feed;
}

/**
 * The same for resources with very many objects: those that are there are told in slices of time, after this returns. `told`
 * resolves when all were; it never rejects.
 */
export function followManyObjects(
  served: ServedResource,
  follower: ObjectFollower,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ObjectFollowing & { readonly told: Promise<void> } {
  const feed = new ObjectFeed(served, follower, logger, clock);
  return Object.assign(feed, { told: feed.startInSlices() });
}

class ObjectFeed implements ObjectFollowing, WatchSink {
  readonly #served: ServedResource;
  readonly #follower: ObjectFollower;
  readonly #logger: Logger;
  /** Present where the follower is told in slices. */
  readonly #clock: Clock | undefined;
  /** What the follower was told of, by key. */
  #known = new Map<string, CacheEntry>();
  #watcher: Watcher | undefined;
  #closed = false;

  constructor(served: ServedResource, follower: ObjectFollower, logger: Logger, clock?: Clock) {
    this.#served = served;
    this.#follower = follower;
    this.#logger = logger;
    this.#clock = clock;
  }

  start(): void {
    for (const _ of this.#bringInStep());
  }

  async startInSlices(): Promise<void> {
    let sliceEnd = this.#monotonic() + limits.objectFeedSliceMs;
    for (const _ of this.#bringInStep()) {
      if (this.#monotonic() < sliceEnd) continue;
      await turn();
      if (this.#closed) return;
      sliceEnd = this.#monotonic() + limits.objectFeedSliceMs;
    }
  }

  #monotonic(): number {
    return this.#clock?.monotonic() ?? 0;
  }

  /**
   * From the collection as it is now: what has gone meanwhile is removed, what has changed is put, and then what changes is
   * followed. One step for each object.
   */
  *#bringInStep(): Generator<void, void> {
    const { collection } = this.#served;
    const snapshot = collection.snapshot();
    const before = this.#known;
    this.#known = new Map();
    for (const entry of snapshot.entries(collection.prefix)) {
      const known = before.get(entry.key);
      before.delete(entry.key);
      this.#known.set(entry.key, entry);
      if (known?.revision !== entry.revision) this.#put(entry);
      yield;
    }
    for (const { namespace, name } of before.values()) this.#follower.remove(namespace, name);
    this.#watcher = collection.watch({ after: snapshot.revision }, this);
  }

  #put(entry: CacheEntry): void {
    try {
      this.#follower.put(parseStored(entry.bytes) as ApiObject);
    } catch (error) {
      const { key, revision, namespace, name } = entry;
      const problem = error instanceof Error ? error.message : String(error);
      this.#logger.error('a stored object is not what its kind says; it is left out of account', {
        key,
        revision,
        problem,
      });
      this.#follower.remove(namespace, name);
    }
  }

  event({ type, entry }: Parameters<WatchSink['event']>[0]): boolean {
    if (type === 'DELETED') {
      this.#known.delete(entry.key);
      this.#follower.remove(entry.namespace, entry.name);
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
      if (this.#closed) return;
      if (this.#clock) void this.startInSlices();
      else this.start();
    });
  }

  get revision(): Revision {
    return this.#watcher?.revision ?? 0;
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
  }
}
