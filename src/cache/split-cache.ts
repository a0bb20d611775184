import type { Caller } from '../base/caller.ts';
import type { Closable } from '../base/disposable.ts';
import { folderOf } from '../store/key-resource.ts';
import type { CachedResource, Collection, ObjectCache, Throttle, WatchCache } from './cache.ts';

interface SplitCacheOptions {
  /** The cache of the store that has all other resources. */
  readonly main: WatchCache;
  /** By the folders of resources (`folderOf`), in whichever scope. */
  readonly others: ReadonlyMap<string, WatchCache>;
  /** Whether the server decides by objects of the folder, so that everybody waits for their store. */
  readonly decides: (folder: string) => boolean;
}

/** The caches of several stores as one: each resource is in one of them. They are made, and loaded, before. */
export class SplitCache implements ObjectCache {
  readonly #main: WatchCache;
  readonly #others: ReadonlyMap<string, WatchCache>;
  readonly #all: readonly WatchCache[];
  /** Those that have what the server decides by. */
  readonly #deciding: readonly WatchCache[];

  constructor({ main, others, decides }: SplitCacheOptions) {
    this.#main = main;
    this.#others = others;
    this.#all = [...new Set([main, ...others.values()])];
    const deciding = [...others].filter(([folder]) => decides(folder)).map(([, cache]) => cache);
    this.#deciding = [...new Set([main, ...deciding])];
  }

  #of(prefix: string): WatchCache {
    return this.#others.get(folderOf(prefix)) ?? this.#main;
  }

  async ready(): Promise<void> {
    await Promise.all(this.#all.map((cache) => cache.ready()));
  }

  addResource(resource: CachedResource): Promise<void> {
    return this.#of(resource.prefix).addResource(resource);
  }

  removeResource(prefix: string): void {
    this.#of(prefix).removeResource(prefix);
  }

  changeResource(resource: CachedResource): Promise<void> {
    return this.#of(resource.prefix).changeResource(resource);
  }

  reload(prefix: string): Promise<void> {
    return this.#of(prefix).reload(prefix);
  }

  collection(prefix: string): Collection {
    return this.#of(prefix).collection(prefix);
  }

  collections(): readonly Collection[] {
    return this.#all.flatMap((cache) => cache.collections());
  }

  isFresh(): boolean {
    return this.#deciding.every((cache) => cache.isFresh());
  }

  async fresh(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#deciding.map((cache) => cache.fresh(signal)));
  }

  freshFor(caller: Pick<Caller, 'signal' | 'local'>): Promise<void> | undefined {
    const waiting = this.#deciding.map((cache) => cache.freshFor(caller)).filter((each) => each !== undefined);
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {});
  }

  get watchers(): number {
    return this.#all.reduce((sum, cache) => sum + cache.watchers, 0);
  }

  throttle(throttle: Throttle): Closable {
    const throttled = this.#all.map((cache) => cache.throttle(throttle));
    return {
      close() {
        for (const each of throttled) each.close();
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((cache) => cache.close()));
  }
}
