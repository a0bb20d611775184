import { setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../base/caller.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { type Count, Metrics } from '../base/metrics.ts';
import { oncePerCaller } from '../base/once-per-caller.ts';
import type { Random } from '../base/random.ts';
import { Backoff } from '../base/time/backoff.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { workBegan } from '../base/time/turns.ts';
import {
  type Change,
  type ChangeBatch,
  historyBytesOf,
  isStoreError,
  type Revision,
  type Store,
  StoreError,
  writtenValue,
} from '../store/store.ts';
import type { CachedResource, Collection, Throttle, WatchCache, Watcher, WatchOptions, WatchSink } from './cache.ts';
import { type CollectionMetricsOf, collectionMetrics } from './collection-metrics.ts';
import { EncodingMemo } from './encoding-memo.ts';
import { type EntryCodec, objectCodec } from './entries/entry-codec.ts';
import type { SlabMemory } from './entries/slab.ts';
import { changeStreamRetries, followChanges } from './follow-changes.ts';
import { awaitFresh, HeadReader, RevisionWaiters } from './freshness.ts';
import { HistoryBudget } from './history-budget.ts';
import { load, readFirst } from './load.ts';
import { type CollectionHost, type LoadedState, ResourceCollection } from './resource-collection.ts';
import type { CacheSharing } from './sharing/shared-entries.ts';
import { CatchUp } from './watching/catch-up.ts';
import { Delivery, FanOut, type Published } from './watching/fan-out.ts';
import { ObjectWatcher, type WatchEnd, type WatcherHost } from './watching/object-watcher.ts';
import { WatcherIndex } from './watching/watcher-index.ts';

/** Turns of the event loop, then pauses, in which the watches of a removed resource get its last events. */
const removedTurnsMax = 100;
const removedPauseMs = 10;

/** What a load of a resource that was there does with its open watches. */
type LoadWatches = 'kept' | 'ended';

interface CacheMetrics {
  /** Reloads of a resource from the store after startup. */
  readonly reloads: Count;
  /** Watches closed because the client read too slowly. */
  readonly slowWatches: Count;
  /** Stored values that are not objects of their resource. */
  readonly corruptObjects: Count;
}

export interface WatchCacheOptions {
  readonly store: Store;
  readonly resources: readonly CachedResource[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: CacheMetrics;
  /** Default: they are not shown. */
  readonly metricsOf?: CollectionMetricsOf;
  /** Codec for a resource's entries. Default: objects in their stored form. For tests that store other values. */
  readonly codecOf?: (resource: CachedResource) => EntryCodec;
  /** Limit in bytes on the memory of all histories together. Default: `limits.cacheHistoriesBytesMax`. */
  readonly historiesBytesMax?: number;
  /** Absent where no other thread has a cache of the same store. */
  readonly sharing?: CacheSharing | undefined;
  /** Called for each slice applied, with the bytes that its changes added to the store's history. */
  readonly historyGrew?: (bytes: number, revision: Revision) => void;
}

/** Creates a cache in front of the store and starts to load it. */
export const createWatchCache = (options: WatchCacheOptions): WatchCache => new StoreCache(options);

/**
 * All resources at one revision of the store. One loop applies the store's changes: to the state first, then to the histories
 * and, through the fan-out, to the watchers. Changes are never applied during synchronous code of the cache; this keeps
 * snapshots, history replay and watcher registration consistent with each other.
 */
class StoreCache implements WatchCache, CollectionHost, WatcherHost {
  readonly logger: Logger;
  readonly historyBudget: HistoryBudget;
  readonly encodings = new EncodingMemo(limits.cacheEncodingsBytesMax);
  readonly live = new WatcherIndex<ObjectWatcher>();
  readonly immediate = new WatcherIndex<ObjectWatcher>();
  readonly catchUp: CatchUp;
  readonly metricsOf: CollectionMetricsOf;
  readonly #options: WatchCacheOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: Store;
  readonly #collections = new Map<string, ResourceCollection>();
  /**
   * Proper path prefixes of the resources' prefixes, with the number of resources below each: none of these may become a
   * resource's prefix.
   */
  readonly #folders = new Map<string, number>();
  readonly #watchers = new Set<ObjectWatcher>();
  /** Watchers that start after a revision the cache had not reached, with the timer that checks the store for it. */
  readonly #expected = new Map<ObjectWatcher, Closable>();
  readonly #fanOut: FanOut;
  readonly #waiters: RevisionWaiters;
  readonly #heads: HeadReader;
  readonly #freshOnce = oncePerCaller((signal) => this.fresh(signal).then(() => {}));
  readonly #abort = new AbortController();
  readonly #ready: Promise<void>;
  readonly #run: Promise<void>;
  /** Resources being loaded while the change stream continues, with the changes since then. */
  readonly #loading = new Map<
    ResourceCollection,
    { readonly done: Promise<void>; changes: Change[]; watches: LoadWatches }
  >();
  /** Resources that have to be waited for before their values are decoded, see `CachedResource.ready`. */
  #lazyResources = 0;
  #revision: Revision = 0;
  #lostSinceMs: number | undefined;
  /** Number of full reloads. */
  #generation = 0;
  #sweep: Closable | undefined;
  #compacting = false;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.logger = options.logger;
    this.metricsOf = options.metricsOf ?? collectionMetrics(new Metrics());
    this.historyBudget = new HistoryBudget(options.historiesBytesMax ?? limits.cacheHistoriesBytesMax);
    this.#clock = options.clock;
    this.#random = options.random;
    this.#store = options.store;
    this.#fanOut = new FanOut(options.clock, this.live);
    this.#waiters = new RevisionWaiters(options.clock);
    this.#heads = new HeadReader(options.store);
    this.catchUp = new CatchUp({ ...options, random: this.#random, collectionOf: (key) => this.#collectionOf(key) });
    for (const resource of options.resources) this.#register(resource);
    this.#answerOthers();
    this.#ready = this.#loadAll();
    this.#run = this.#ready.then(
      () => this.#follow(),
      () => this.#stop(),
    );
    this.#armSweep();
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  get revision(): Revision {
    return this.#revision;
  }

  get lostSinceMs(): number | undefined {
    return this.#lostSinceMs;
  }

  throttle(throttle: Throttle): Closable {
    return this.#fanOut.throttle(throttle);
  }

  get published(): Revision {
    return this.#fanOut.published;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  collection(prefix: string): Collection {
    return this.#find(prefix);
  }

  collections(): readonly Collection[] {
    return [...this.#collections.values()].filter((collection) => collection.loaded);
  }

  async addResource(resource: CachedResource): Promise<void> {
    const collection = this.#register(resource);
    // The initial load includes every resource registered before it ends.
    if (this.#generation === 0) await this.#ready;
    if (!collection.loaded) await this.#loadOne(collection);
  }

  removeResource(prefix: string): void {
    const collection = this.#find(prefix);
    this.#collections.delete(prefix);
    if (collection.isLazy) this.#lazyResources--;
    this.#loading.delete(collection);
    for (const folder of foldersAbove(prefix)) this.#countFolder(folder, -1);
    collection.release();
    void this.#endRemoved(collection);
  }

  /** Ends the watches of a resource that was removed, when they have been given what happened to its objects before. */
  async #endRemoved(collection: ResourceCollection): Promise<void> {
    const last = this.#revision;
    const deadline = this.#clock.monotonic() + limits.removedWatchMsMax;
    const lag = (): boolean => [...collection.watchers].some((watcher) => watcher.revision < last);
    const { signal } = this.#abort;
    for (let turns = 0; lag() && this.#clock.monotonic() < deadline && !signal.aborted; turns++) {
      await (turns < removedTurnsMax ? turn() : pause(this.#clock, removedPauseMs, signal));
    }
    await this.#endAll(collection, 'closed');
  }

  /** Ends all watches of a collection. Delivery stops at once; owners are notified in time slices, immediate ones first. */
  async #endAll({ watchers }: ResourceCollection, reason: 'closed' | 'compacted'): Promise<void> {
    const ended = [...watchers].filter((watcher) => watcher.detach(reason));
    for (const watcher of ended) if (watcher.isImmediate) watcher.notifyEnd(reason);
    const slice = new TimeSlice(this.#clock);
    for (const watcher of ended) {
      if (!watcher.isImmediate) watcher.notifyEnd(reason);
      if (slice.over) await slice.next();
    }
  }

  async reload(prefix: string): Promise<void> {
    const collection = this.#find(prefix);
    this.#options.metrics?.reloads.inc();
    await this.#loadOne(collection);
  }

  async changeResource(resource: CachedResource): Promise<void> {
    const collection = this.#find(resource.prefix);
    const codec = (this.#options.codecOf ?? objectCodec)(resource);
    collection.reshape({ ...resource, codec });
    // Part of a load that has begun may be in the former form: it is then repeated.
    await this.#loadOne(collection, 'kept');
  }

  waitFor(revision: Revision, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    return this.#waiters.wait(revision, waitMs, signal);
  }

  isFresh(): boolean {
    const head = this.#store.knownHead;
    return head !== undefined && head <= this.#revision;
  }

  fresh(signal?: AbortSignal): Promise<Revision> {
    return awaitFresh(this.#heads, this.#waiters, signal);
  }

  freshFor(caller: Pick<Caller, 'signal' | 'local'>): Promise<void> | undefined {
    // The signal of a caller that waits for nothing is not created.
    return caller.local || this.isFresh() ? undefined : this.#freshOnce(caller.signal);
  }

  async close(): Promise<void> {
    this.#stop();
    await Promise.all([this.#run, this.catchUp.close()]);
  }

  watch(collection: ResourceCollection, options: WatchOptions, sink: WatchSink): Watcher {
    const watcher = new ObjectWatcher(this, collection, options, sink);
    this.#watchers.add(watcher);
    collection.watchers.add(watcher);
    if (options.after > this.#revision) this.#expect(watcher, options.after);
    // The owner must have the watcher before the sink is called.
    queueMicrotask(() => {
      if (this.#abort.signal.aborted || collection.removed) watcher.end('closed');
      else watcher.begin();
    });
    return watcher;
  }

  ended(watcher: ObjectWatcher, reason: WatchEnd): void {
    this.#watchers.delete(watcher);
    watcher.collection.watchers.delete(watcher);
    this.#expected.get(watcher)?.close();
    this.#expected.delete(watcher);
    if (reason !== 'slow') return;
    this.#options.metrics?.slowWatches.inc();
    watcher.collection.metrics.unresponsive.add();
  }

  foundCorrupt(): void {
    this.#options.metrics?.corruptObjects.inc();
  }

  /** Gives the store time to reach the watch's start revision. */
  #expect(watcher: ObjectWatcher, after: Revision): void {
    const timer = this.#clock.after(limits.futureRevisionWaitMs, async () => {
      this.#expected.delete(watcher);
      if (after <= this.#revision) return;
      try {
        // If the store has reached it, the change stream will deliver it.
        if ((await this.#heads.read()) < after) watcher.end('beyond');
      } catch {
        // Tries again: the store's revision is unknown until it answers.
        if (this.#watchers.has(watcher)) this.#expect(watcher, after);
      }
    });
    this.#expected.set(watcher, timer);
  }

  #stop(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#sweep?.close();
    this.#fanOut.close();
    this.#waiters.close();
    for (const watcher of [...this.#watchers]) watcher.end('closed');
  }

  #find(prefix: string): ResourceCollection {
    const collection = this.#collections.get(prefix);
    if (!collection) throw new Error(`no resource ${prefix} in the cache`);
    return collection;
  }

  #register(resource: CachedResource): ResourceCollection {
    const { prefix } = resource;
    if (!/^(\/[^/]+)+\/$/.test(prefix)) throw new Error(`${prefix} is no prefix of a resource`);
    if (this.#collectionOf(prefix) || this.#folders.has(prefix)) {
      throw new Error(`resource ${prefix} and another one overlap`);
    }
    for (const folder of foldersAbove(prefix)) this.#countFolder(folder, 1);
    const codec = (this.#options.codecOf ?? objectCodec)(resource);
    const collection = new ResourceCollection(this, { ...resource, codec });
    this.#collections.set(prefix, collection);
    if (resource.ready) this.#lazyResources++;
    return collection;
  }

  #countFolder(folder: string, by: 1 | -1): void {
    const count = (this.#folders.get(folder) ?? 0) + by;
    if (count === 0) this.#folders.delete(folder);
    else this.#folders.set(folder, count);
  }

  /** The collection that contains the key: at most one, since no prefix is a prefix of another. */
  #collectionOf(key: string): ResourceCollection | undefined {
    for (let slash = key.indexOf('/', 1); slash >= 0; slash = key.indexOf('/', slash + 1)) {
      const collection = this.#collections.get(key.slice(0, slash + 1));
      if (collection) return collection;
    }
    return undefined;
  }

  /** Applies the store's changes until the cache is closed. */
  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    const backoff = new Backoff(changeStreamRetries, this.#random);
    while (!signal.aborted) {
      try {
        const changes = followChanges({
          store: this.#store,
          from: this.#revision,
          signal,
          clock: this.#clock,
          random: this.#random,
          logger: this.logger,
        });
        for await (const batch of changes) {
          backoff.reset();
          const ready = this.#readyFor(batch);
          if (ready) await ready;
          for (let taken = 0; taken < batch.changes.length || this.#revision < batch.revision; ) {
            if (taken > 0) await turn();
            if (signal.aborted) return;
            taken = this.#apply(batch, taken);
            await this.#fanOut.ready(signal);
          }
        }
      } catch (error) {
        if (!isStoreError(error, 'compacted')) await pause(this.#clock, backoff.next(), signal);
        if (!signal.aborted) await this.#recover(error, backoff);
      }
    }
  }

  /** Reloads everything, retrying until it succeeds: the change stream cannot continue from its position. */
  async #recover(reason: unknown, backoff: Backoff): Promise<void> {
    const { signal } = this.#abort;
    this.logger.error('the change stream was lost; everything is reloaded', {
      revision: this.#revision,
      error: reason,
    });
    this.#lostSinceMs ??= this.#clock.monotonic();
    while (!signal.aborted) {
      try {
        await this.#loadAll();
        this.#lostSinceMs = undefined;
        this.#options.metrics?.reloads.inc();
        return;
      } catch (error) {
        this.logger.warn('the store could not be read; it is tried again', { error });
        await pause(this.#clock, backoff.next(), signal);
      }
    }
  }

  /** What the changes of a batch are decoded by. Most batches wait for nothing. */
  #readyFor({ changes }: ChangeBatch): Promise<unknown> | undefined {
    if (this.#lazyResources === 0) return undefined;
    let waiting: Promise<void>[] | undefined;
    for (const change of changes) {
      const ready = this.#collectionOf(change.key)?.ready(this.#clock, writtenValue(change));
      if (ready) waiting = [...(waiting ?? []), ready];
    }
    return waiting && Promise.all(waiting);
  }

  /**
   * Applies a slice of a batch, in whole revisions, starting at index `first`. Returns the index of the next change. Between
   * slices, others see the state at the slice's last revision.
   */
  #apply(batch: ChangeBatch, first: number): number {
    const now = this.#clock.monotonic();
    const { changes } = batch;
    const published: Published[] = [];
    const part = {};
    let historyBytes = 0;
    let next = first;
    for (; next < changes.length; next++) {
      const change = changes[next] as Change;
      // What it causes at once shares the turn with it.
      if ((writtenValue(change)?.length ?? 0) > limits.inlineBytesMax) workBegan(this.#clock);
      if (next > first && this.#cutsBefore(change, changes[next - 1], now)) break;
      const watched = this.#applyChange(change, part, now);
      if (watched) published.push(watched);
      historyBytes += historyBytesOf(change);
    }
    this.#advance(next === changes.length ? batch.revision : (changes[next - 1]?.revision ?? 0));
    this.#options.historyGrew?.(historyBytes, this.#revision);
    if (!this.immediate.isEmpty) for (const each of published) new Delivery(this.immediate, each).continue(undefined);
    this.#fanOut.publish(published, this.#revision);
    return next;
  }

  /**
   * True if a slice that started at `began` should end between these two changes: its time is up and they differ in revision.
   */
  #cutsBefore(change: Change, before: Change | undefined, began: number): boolean {
    if (before?.revision === change.revision) return false;
    return this.#clock.monotonic() - began >= limits.sliceMs;
  }

  #applyChange(change: Change, part: object, now: number): Published | undefined {
    if (change.revision <= this.#revision) return undefined;
    const collection = this.#collectionOf(change.key);
    if (!collection) return undefined;
    collection.metrics.received.add();
    this.#loading.get(collection)?.changes.push(change);
    if (!collection.loaded) return undefined;
    const watched = collection.apply(change, part, now);
    const location = collection.codec.locate(change.key);
    if (!watched || !location) return undefined;
    collection.metrics.dispatched.add();
    return { collection, location, change: watched, revision: change.revision };
  }

  /** Never moves backwards. */
  #advance(revision: Revision): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#waiters.advance(revision);
  }

  /** Loads every resource at one revision and installs all of them at once. The change stream does not run meanwhile. */
  async #loadAll(): Promise<void> {
    const head = await this.#store.head();
    if (head < this.#revision) {
      throw new StoreError('corrupt', `the store is at revision ${head} and was at ${this.#revision}`, {
        revision: head,
      });
    }
    const { sharing } = this.#options;
    const source = { store: this.#store, first: await readFirst(this.#store, head), at: head, sharing };
    const loaded = new Map<ResourceCollection, LoadedState>();
    // Resources may be added meanwhile.
    for (;;) {
      // Resources may change their form, too.
      const missing = [...this.#collections.values()].filter(
        (collection) => loaded.get(collection)?.codec !== collection.codec,
      );
      if (missing.length === 0) break;
      for (const collection of missing) loaded.set(collection, await load(source, collection, this.#clock));
    }
    this.#generation++;
    this.#loading.clear();
    this.#advance(head);
    for (const [collection, state] of loaded)
      if (!collection.removed) this.#install(collection, state, { changes: [], watches: 'ended' });
  }

  /** Loads one resource while the change stream continues. Concurrent calls share the work. */
  #loadOne(collection: ResourceCollection, watches: LoadWatches = 'ended'): Promise<void> {
    const under = this.#loading.get(collection);
    if (under) {
      if (watches === 'ended') under.watches = watches;
      return under.done;
    }
    const loading = { changes: [] as Change[], watches, done: Promise.resolve() };
    const entry = Object.assign(loading, { done: Promise.resolve().then(() => this.#loadBeside(collection, loading)) });
    this.#loading.set(collection, entry);
    return entry.done;
  }

  async #loadBeside(
    collection: ResourceCollection,
    loading: { changes: Change[]; watches: LoadWatches },
  ): Promise<void> {
    const { signal } = this.#abort;
    const generation = this.#generation;
    const backoff = new Backoff(changeStreamRetries, this.#random);
    while (!signal.aborted && !collection.removed && generation === this.#generation) {
      const at = this.#revision;
      loading.changes = [];
      try {
        const source = { store: this.#store, at, sharing: this.#options.sharing };
        const state = await load(source, collection, this.#clock);
        if (signal.aborted || collection.removed || generation !== this.#generation) break;
        if (state.codec !== collection.codec) continue;
        this.#loading.delete(collection);
        this.#install(collection, state, loading);
        return;
      } catch (error) {
        this.logger.warn('a resource could not be read; it is tried again', { prefix: collection.prefix, at, error });
        await pause(this.#clock, backoff.next(), signal);
      }
    }
    // Either a full reload has included this resource, or there is nothing left to load.
    if (!collection.loaded) throw new StoreError('unavailable', 'the cache no longer holds the resource');
  }

  /** `changes`: those after the revision of `state`. */
  #install(
    collection: ResourceCollection,
    state: LoadedState,
    { changes, watches }: { readonly changes: readonly Change[]; readonly watches: LoadWatches },
  ): void {
    const first = !collection.loaded;
    collection.install(state);
    const now = this.#clock.monotonic();
    for (const change of changes) collection.apply(change, changes, now);
    if (first) for (const watcher of [...collection.watchers]) watcher.begin();
    // Watchers may have received something other than what was read.
    else if (watches === 'ended') void this.#endAll(collection, 'compacted');
  }

  #armSweep(): void {
    this.#sweep = this.#clock.after(limits.cacheSweepMs, () => {
      for (const collection of this.#collections.values()) collection.trim(this.#clock.monotonic());
      if (!this.#compacting) void this.#compact();
      this.#armSweep();
    });
  }

  /**
   * Moves entries of collections with many recent writes next to each other in memory, in time slices: in slabs of this
   * thread, or where the thread that leads has them.
   */
  async #compact(): Promise<void> {
    this.#compacting = true;
    const { sharing } = this.#options;
    for (const collection of [...this.#collections.values()]) {
      if (!collection.scattered || collection.removed) continue;
      if (!sharing || sharing.leads) await this.#compactOne(collection, sharing?.slabs.allocate);
      else await this.#adoptOne(collection, sharing);
    }
    this.#compacting = false;
  }

  async #compactOne(collection: ResourceCollection, memory: SlabMemory | undefined): Promise<void> {
    const slice = new TimeSlice(this.#clock);
    collection.gathers();
    let after: string | undefined;
    do {
      after = collection.compact(after, memory);
      if (slice.over) await slice.next();
    } while (after !== undefined && !this.#abort.signal.aborted);
  }

  async #adoptOne(collection: ResourceCollection, sharing: CacheSharing): Promise<void> {
    collection.gathers();
    for (let at = collection.stretchAfter(undefined); at; at = collection.stretchAfter(at.last)) {
      const places = await sharing.ask(at);
      if (!places || this.#abort.signal.aborted) return;
      collection.adopt(at, places, sharing.slabs);
    }
  }

  #answerOthers(): void {
    const { sharing } = this.#options;
    sharing?.answer((stretch) => {
      const collection = this.#collections.get(stretch.prefix);
      return collection?.loaded ? collection.share(stretch, sharing.slabs) : undefined;
    });
  }
}

/** The parents of `/a/b/` are `/a/` and `/`. */
function* foldersAbove(prefix: string): IterableIterator<string> {
  for (let slash = prefix.indexOf('/'); slash < prefix.length - 1; slash = prefix.indexOf('/', slash + 1)) {
    yield prefix.slice(0, slash + 1);
  }
}
