import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Logger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { selectable } from '../meta/selectable-field.ts';
import { DecoratedStore } from '../store/decorated-store.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import type { Revision, Store } from '../store/store.ts';
import type { CachedResource, CacheEvent, Collection, WatchCache, Watcher, WatchOptions, WatchSink } from './cache.ts';
import { createWatchCache, type WatchCacheOptions } from './watch-cache.ts';

export const configMaps: CachedResource = {
  prefix: '/core/configmaps/',
  namespaced: true,
  selectableFields: [selectable('app', { at: ['metadata.labels.app'], indexed: true })],
};

export const nodes: CachedResource = { prefix: '/core/nodes/', namespaced: false, selectableFields: [] };

interface ConfigMapContent {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly data?: string;
}

/** A ConfigMap in its stored form (codec/object-bytes.ts). */
export function configMap(name: string, content: ConfigMapContent = {}): Buffer {
  const { namespace = 'default', labels, data = '' } = content;
  const metadata = { name, namespace, ...(labels && { labels }) };
  return Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { data } }));
}

export const keyOf = (name: string, namespace = 'default'): string => `${configMaps.prefix}${namespace}/${name}`;

/** Creates or replaces a ConfigMap. */
export async function put(store: Store, name: string, content: ConfigMapContent = {}): Promise<Revision> {
  const key = keyOf(name, content.namespace);
  const value = configMap(name, content);
  const there = await store.get(key);
  return (await (there ? store.update(key, value, there.revision) : store.create(key, value))).revision;
}

/** Creates or replaces `count` ConfigMaps, one after the other. */
export async function putMany(store: Store, count: number, prefix = 'm'): Promise<readonly Revision[]> {
  const revisions: Revision[] = [];
  for (let index = 0; index < count; index++) revisions.push(await put(store, `${prefix}${index}`));
  return revisions;
}

/** Deletes a ConfigMap, which must be there. */
export async function remove(store: Store, name: string): Promise<Revision> {
  const there = (await store.get(keyOf(name))) ?? assert.fail(`there is no ${name}`);
  return (await store.delete(there.key, there.revision)).revision;
}

/** Logger that records its entries. */
class RecordingLogger implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: unknown }[] = [];

  error = this.#keep('error');
  warn = this.#keep('warn');
  info = this.#keep('info');
  debug = this.#keep('debug');

  #keep(level: string) {
    return (message: string, fields?: Readonly<Record<string, unknown>>) =>
      void this.lines.push({ level, message, fields });
  }
}

export class RecordingCounter {
  count = 0;

  inc(): void {
    this.count++;
  }
}

interface OpenedCache {
  readonly cache: WatchCache;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly log: RecordingLogger;
  readonly configMaps: Collection;
}

/** Opens and loads a cache. It is closed when the test ends. */
export async function openCache(context: TestContext, options: Partial<WatchCacheOptions> = {}): Promise<OpenedCache> {
  const clock = new ManualClock();
  const log = new RecordingLogger();
  const store = options.store ?? openMemoryStore();
  const cache = createWatchCache({
    store,
    resources: [configMaps, nodes],
    clock,
    random: noJitter,
    logger: log,
    ...options,
  });
  context.after(() => cache.close());
  await cache.ready();
  return {
    cache,
    store,
    clock,
    log,
    get configMaps() {
      return cache.collection(configMaps.prefix);
    },
  };
}

/** Watch that records its events. */
export class RecordingWatch implements WatchSink {
  readonly events: CacheEvent[] = [];
  readonly watcher: Watcher;
  closedFor: string | undefined;
  preparing = false;
  /** Number of events to accept before each pause. */
  readonly #takesMax: number;
  #taken = 0;

  constructor(collection: Collection, options: WatchOptions, takesMax = Number.POSITIVE_INFINITY) {
    this.#takesMax = takesMax;
    this.watcher = collection.watch(options, this);
  }

  event(event: CacheEvent): boolean {
    if (this.closedFor !== undefined) throw new Error('an event after closed');
    this.events.push(event);
    this.#taken++;
    return this.#taken < this.#takesMax;
  }

  closed(reason: string): void {
    if (this.closedFor !== undefined) throw new Error('closed twice');
    this.closedFor = reason;
  }

  resume(): void {
    this.#taken = 0;
    this.watcher.resume();
  }

  get revisions(): readonly Revision[] {
    return this.events.map(({ revision }) => revision);
  }

  /** Events as `ADDED a@5`. */
  get received(): readonly string[] {
    return this.events.map(({ type, entry, revision }) => `${type} ${entry.name}@${revision}`);
  }
}

export const parsed = (bytes: Uint8Array): { metadata: { name: string; resourceVersion: string }; data: unknown } =>
  JSON.parse(Buffer.from(bytes).toString());

/** Store whose calls can be made to fail or to block. */
export class FaultyStore extends DecoratedStore {
  readonly inner: Store;
  /** Called before each call; may throw or block. */
  before: (call: keyof Store) => Promise<void> | void = () => {};
  /** Ends the open change streams with this error. */
  #break = new AbortController();
  #breakWith: Error | undefined;

  constructor(inner: Store = openMemoryStore()) {
    super(inner);
    this.inner = inner;
  }

  breakChangeStreams(error: Error): void {
    this.#breakWith = error;
    const broken = this.#break;
    this.#break = new AbortController();
    broken.abort();
  }

  /** As of etcd: only a question tells. */
  override get knownHead(): undefined {
    return undefined;
  }

  override async head() {
    await this.before('head');
    return this.inner.head();
  }

  override async get(key: string, at?: Revision) {
    await this.before('get');
    return this.inner.get(key, at);
  }

  override async list(prefix: string, options?: Parameters<Store['list']>[1]) {
    await this.before('list');
    return this.inner.list(prefix, options);
  }

  override async *changes(from: Revision, signal: AbortSignal) {
    await this.before('changes');
    const broken = this.#break.signal;
    yield* this.inner.changes(from, AbortSignal.any([signal, broken]));
    if (broken.aborted && this.#breakWith) throw this.#breakWith;
  }
}
