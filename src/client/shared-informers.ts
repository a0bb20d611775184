import { getOrAdd } from '../base/collections/get-or-add.ts';
import { Condition } from '../base/condition.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { Informer, type InformerOptions } from './informer.ts';

/** The value that objects are found by; undefined for those that nobody looks for. The function itself names the index. */
export type Indexer = (object: ApiObject) => string | undefined;

interface Follower {
  /** As `InformerOptions.changed`, after all indexes have changed. Objects are shared: nobody may change them. */
  readonly changed: (key: string, now: ApiObject | undefined, before: ApiObject | undefined) => void;
  readonly synced?: () => void;
}

type SharedInformerOptions = Omit<InformerOptions<ApiObject>, 'select' | 'changed' | 'synced' | 'reached'>;

/** A local copy of a collection, without managed fields, for all controllers of a process. */
export class SharedInformer implements Closable {
  readonly #options: SharedInformerOptions;
  readonly #informer: Informer<ApiObject>;
  readonly #followers = new Set<Follower>();
  readonly #indexes = new Map<Indexer, Map<string, Map<string, ApiObject>>>();
  readonly #progress = new Condition();
  /** The resourceVersion up to which the copy has every change. */
  #position = 0n;

  constructor(options: SharedInformerOptions) {
    this.#options = options;
    this.#informer = new Informer<ApiObject>({
      ...options,
      select: withoutManagedFields,
      changed: (key, now, before) => this.#changed(key, now, before),
      synced: () => {
        for (const { synced } of this.#followers) synced?.();
      },
      reached: (version) => {
        this.#position = versionOf(version);
        this.#progress.notifyAll();
      },
    });
  }

  get synced(): boolean {
    return this.#informer.synced;
  }

  /** By `namespace/name`. */
  get(key: string): ApiObject | undefined {
    return this.#informer.get(key);
  }

  entries(): IterableIterator<[string, ApiObject]> {
    return this.#informer.entries();
  }

  /** Objects for which the indexer gives this value. The index is made when it is first asked for. */
  indexed(by: Indexer, value: string): readonly ApiObject[] {
    const index = getOrAdd(this.#indexes, by, () => this.#makeIndex(by));
    return [...(index.get(value)?.values() ?? [])];
  }

  /** Tells of every change until closed; of what is there already, at once. */
  follow(follower: Follower): Closable {
    this.#followers.add(follower);
    if (this.synced) {
      for (const [key, object] of this.entries()) follower.changed(key, object, undefined);
      follower.synced?.();
    }
    return { close: () => void this.#followers.delete(follower) };
  }

  /**
   * Waits until the copy has everything up to this resourceVersion, such as that of an object that the caller has written.
   * Versions of one collection are ordered (KEP-5504). A wait is bounded: a store may have been restored to an earlier state.
   */
  reached(version: string | undefined, signal: AbortSignal): Promise<void> {
    const wanted = versionOf(version);
    return this.#until(() => this.#position >= wanted, signal);
  }

  /** Waits until the copy shows that the object is gone or being deleted. Bounded, as `reached`. */
  deleted(key: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    return this.#until(() => {
      const metadata = this.get(key)?.metadata;
      return metadata?.uid !== uid || metadata?.deletionTimestamp !== undefined;
    }, signal);
  }

  async #until(isSeen: () => boolean, signal: AbortSignal): Promise<void> {
    if (isSeen()) return;
    const patience = new AbortController();
    const timer = this.#options.clock.after(limits.ownWritesSeenMs, () => patience.abort());
    const either = AbortSignal.any([signal, patience.signal]);
    try {
      while (!isSeen() && !either.aborted) await this.#progress.wait(either);
    } finally {
      timer.close();
    }
    signal.throwIfAborted();
  }

  #changed(key: string, now: ApiObject | undefined, before: ApiObject | undefined): void {
    for (const [by, index] of this.#indexes) {
      const [from, to] = [before && by(before), now && by(now)];
      if (from !== undefined && from !== to) removeFrom(index, from, key);
      if (to !== undefined && now) getOrAdd(index, to, () => new Map()).set(key, now);
    }
    for (const { changed } of this.#followers) changed(key, now, before);
  }

  #makeIndex(by: Indexer): Map<string, Map<string, ApiObject>> {
    const index = new Map<string, Map<string, ApiObject>>();
    for (const [key, object] of this.entries()) {
      const value = by(object);
      if (value !== undefined) getOrAdd(index, value, () => new Map()).set(key, object);
    }
    return index;
  }

  close(): void {
    this.#informer.close();
    this.#followers.clear();
  }
}

function removeFrom(index: Map<string, Map<string, ApiObject>>, value: string, key: string): void {
  const found = index.get(value);
  found?.delete(key);
  if (found?.size === 0) index.delete(value);
}

/** An empty version, as of the list of a program that has none, counts as the first. */
const versionOf = (text: string | undefined): bigint => (text && /^\d{1,20}$/.test(text) ? BigInt(text) : 0n);

/** They may be larger than the rest of the object. A server that is sent none keeps them. */
function withoutManagedFields(object: ApiObject): ApiObject {
  delete object.metadata.managedFields;
  return object;
}

/** The informers of a process: one for each collection, opened when it is first asked for. */
export class SharedInformers implements Closable {
  readonly #options: Omit<SharedInformerOptions, 'path'>;
  readonly #informers = new Map<string, SharedInformer>();

  constructor(options: Omit<SharedInformerOptions, 'path'>) {
    this.#options = options;
  }

  /** `path` is that of a whole collection. */
  of(path: string): SharedInformer {
    return getOrAdd(this.#informers, path, () => new SharedInformer({ ...this.#options, path }));
  }

  close(): void {
    for (const informer of this.#informers.values()) informer.close();
  }
}
