import type { Closable } from '../base/disposable.ts';
import type { CacheEntry, Watcher, WatchSink } from '../cache/cache.ts';
import { parseStored } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ServedResource } from '../registry/resource-registry.ts';

/** What is kept up to date with the objects of one resource. */
export interface ObjectFollower {
  /** A new object, or the new state of one. It is the follower's own. */
  put(object: ApiObject): void;
  /** `namespace` is '' for cluster-scoped objects. An object that is not known may be told too. */
  remove(namespace: string, name: string): void;
}

/**
 * Tells a follower of all objects of a resource: of those that are there before it returns, then of every change, as soon as
 * the cache tells its watchers. An object that became unreadable is removed: what nobody can read grants nothing.
 */
export function followObjects(served: ServedResource, follower: ObjectFollower): Closable {
  return new ObjectFeed(served, follower);
}

class ObjectFeed implements Closable, WatchSink {
  readonly #served: ServedResource;
  readonly #follower: ObjectFollower;
  /** What the follower was told of, by key. */
  #known = new Map<string, CacheEntry>();
  #watcher: Watcher | undefined;
  #closed = false;

  constructor(served: ServedResource, follower: ObjectFollower) {
    this.#served = served;
    this.#follower = follower;
    this.#start();
  }

  /** From the collection as it is now: what has gone meanwhile is removed, what has changed is put. */
  #start(): void {
    const { collection } = this.#served;
    const snapshot = collection.snapshot();
    const before = this.#known;
    this.#known = new Map();
    for (const entry of snapshot.entries(collection.prefix)) {
      const known = before.get(entry.key);
      before.delete(entry.key);
      this.#known.set(entry.key, entry);
      if (known?.revision !== entry.revision) this.#put(entry);
    }
    for (const { namespace, name } of before.values()) this.#follower.remove(namespace, name);
    this.#watcher = collection.watch({ after: snapshot.revision }, this);
  }

  #put(entry: CacheEntry): void {
    this.#follower.put(parseStored(entry.bytes) as ApiObject);
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
      if (!this.#closed) this.#start();
    });
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
  }
}
