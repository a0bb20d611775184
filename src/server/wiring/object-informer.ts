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

/** What an informer tells of the objects of one resource. */
interface ObjectHandler {
  /**
   * A new object, or the new state of one, for the handler to keep. It is as stored: the handler throws where it is not what
   * its kind says, and is then told to remove it.
   */
  put(object: ApiObject): void;
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
export function startInformer(served: ServedResource, handler: ObjectHandler, logger: Logger): ObjectInformer {
  const informer = new CacheInformer(served, handler, logger);
  informer.start();
  return informer;
}

/**
 * The same for resources with very many objects: those that are there are told in slices of time, after this returns. `told`
 * resolves when all were; it never rejects.
 */
export function startSlicedInformer(
  served: ServedResource,
  handler: ObjectHandler,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ObjectInformer & { readonly told: Promise<void> } {
  const informer = new CacheInformer(served, handler, logger, clock);
  return Object.assign(informer, { told: informer.startInSlices() });
}

class CacheInformer implements ObjectInformer, WatchSink {
  readonly #served: ServedResource;
  readonly #handler: ObjectHandler;
  readonly #logger: Logger;
  /** Present where the handler is told in slices. */
  readonly #clock: Clock | undefined;
  /** What the handler was told of, by key. */
  #known = new Map<string, CacheEntry>();
  #watcher: Watcher | undefined;
  #closed = false;

  constructor(served: ServedResource, handler: ObjectHandler, logger: Logger, clock?: Clock) {
    this.#served = served;
    this.#handler = handler;
    this.#logger = logger;
    this.#clock = clock;
  }

  start(): void {
    for (const _ of this.#bringInStep());
  }

  async startInSlices(): Promise<void> {
    let sliceEnd = this.#monotonic() + limits.informerSliceMs;
    for (const _ of this.#bringInStep()) {
      if (this.#monotonic() < sliceEnd) continue;
      await turn();
      if (this.#closed) return;
      sliceEnd = this.#monotonic() + limits.informerSliceMs;
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
    for (const { namespace, name } of before.values()) this.#handler.remove(namespace, name);
    this.#watcher = collection.watch({ after: snapshot.revision }, this);
  }

  #put(entry: CacheEntry): void {
    try {
      this.#handler.put(parseStored(entry.bytes) as ApiObject);
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
