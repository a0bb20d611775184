import { spanOf } from '../base/collections/byte-span.ts';
import { Condition } from '../base/condition.ts';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { systemClock } from '../base/time/clock.ts';
import {
  type BatchWrite,
  type Change,
  type ChangeBatch,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreRecord,
} from '../store/store.ts';
import type { CacheEntry, CacheEvent, Collection, Snapshot, WatchCache } from './cache.ts';
import type { EntryCodec } from './entries/entry-codec.ts';
import { createWatchCache } from './watch-cache.ts';

const prefix = '/cached/';

/** Codec for arbitrary bytes: the cache holds exactly what the store holds. */
const plainCodec: EntryCodec = {
  locate: (key) => ({ namespace: '', name: key.slice(prefix.length) }),
  decode: ({ key, value, revision, stale }) => plainEntry(key, revision, Buffer.from(value), stale),
  restamp: (entry, revision) => plainEntry(entry.key, revision, entry.bytes),
  move: (entry) => entry,
  at: (entry) => entry,
};

const plainEntry = (key: string, revision: Revision, bytes: Buffer, stale = false): CacheEntry => ({
  stale,
  key,
  namespace: '',
  name: key.slice(prefix.length),
  revision,
  bytes,
  ...spanOf(bytes),
  label: () => undefined,
  field: () => undefined,
});

/** A store that serves from a cache in front of `store` whatever a cache can serve. */
export async function cachedStore(store: Store): Promise<Store> {
  const cache = createWatchCache({
    random: noJitter,
    store,
    resources: [{ prefix, namespaced: false, selectableFields: [] }],
    clock: systemClock,
    logger: silentLogger,
    codecOf: () => plainCodec,
  });
  await cache.ready();
  return new CachedStore(store, cache);
}

const inner = (key: string): string => prefix + key;
const outer = <T extends { readonly key: string }>(record: T): T => ({
  ...record,
  key: record.key.slice(prefix.length),
});
const recordOf = ({ key, bytes, revision }: CacheEntry): StoreRecord => outer({ key, value: bytes, revision });

/** Replaces keys in errors with the keys known to the caller. */
async function withOuterKey<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof StoreError) || error.key === undefined) throw error;
    const { code, message, revision } = error;
    throw new StoreError(code, message, {
      key: error.key.slice(prefix.length),
      ...(revision !== undefined && { revision }),
    });
  }
}

class CachedStore implements Store {
  readonly #store: Store;
  readonly #cache: WatchCache;
  readonly #collection: Collection;
  /** Compaction revision. A cache may still serve compacted revisions; a store must not. */
  #compacted: Revision = 0;
  #closed = false;

  constructor(store: Store, cache: WatchCache) {
    this.#store = store;
    this.#cache = cache;
    this.#collection = cache.collection(prefix);
  }

  head(): Promise<Revision> {
    return this.#store.head();
  }

  async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    const snapshot = await this.#snapshot(at);
    if (!snapshot) {
      const record = await this.#store.get(inner(key), at);
      return record && outer(record);
    }
    const entry = snapshot.get(inner(key));
    return entry && recordOf(entry);
  }

  async list(keys: string, options: ListOptions = {}): Promise<Page> {
    const snapshot = await this.#snapshot(options.at);
    const after = options.after === undefined ? {} : { after: inner(options.after) };
    if (!snapshot) {
      const page = await this.#store.list(inner(keys), { ...options, ...after });
      return { ...page, records: page.records.map(outer) };
    }
    const records: StoreRecord[] = [];
    for (const entry of snapshot.entries(inner(keys), after)) {
      if (records.length === options.limit) break;
      records.push(recordOf(entry));
    }
    const last = records.at(-1);
    const rest = last ? { after: inner(last.key) } : after;
    return { records, revision: snapshot.revision, remaining: snapshot.count(inner(keys), rest) };
  }

  create(key: string, value: Uint8Array) {
    return withOuterKey(this.#store.create(inner(key), value));
  }

  update(key: string, value: Uint8Array, expected: Revision) {
    return withOuterKey(this.#store.update(inner(key), value, expected));
  }

  delete(key: string, expected: Revision) {
    return withOuterKey(this.#store.delete(inner(key), expected));
  }

  batch(writes: readonly BatchWrite[]) {
    return withOuterKey(this.#store.batch(writes.map((write) => ({ ...write, key: inner(write.key) }))));
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    this.#assertOpen();
    while (!(await this.#cache.waitFor(from, 60_000, signal))) {
      if (signal.aborted) return;
      this.#assertOpen();
    }
    const records = new Map((await this.list('', { at: from })).records.map((record) => [record.key, record]));
    let follower = new Follower(this.#collection, from);
    let position = from;
    try {
      while (!signal.aborted) {
        if (follower.fellBehind) follower = new Follower(this.#collection, position);
        const batch = follower.take(records);
        if (batch.revision > position || batch.changes.length > 0) {
          position = batch.revision;
          yield batch;
        } else {
          await Promise.race([follower.moved(signal), this.#cache.waitFor(this.#cache.revision + 1, 60_000, signal)]);
        }
      }
    } finally {
      follower.close();
    }
  }

  size(): Promise<number> {
    return this.#store.size();
  }

  async compact(upTo: Revision): Promise<void> {
    await this.#store.compact(upTo);
    this.#compacted = Math.max(this.#compacted, upTo);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#cache.close();
    await this.#store.close();
  }

  /** Undefined if the store must answer. */
  async #snapshot(at: Revision | undefined): Promise<Snapshot | undefined> {
    this.#assertOpen();
    if (at === undefined) {
      await this.#cache.fresh();
      return this.#collection.snapshot();
    }
    return at < this.#compacted ? undefined : this.#collection.snapshotAt(at);
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
  }
}

/** Events a follower accepts before it pauses the watch; small, so that tests exercise pause and resume. */
const takenMax = 7;

/** A watch that is polled. */
class Follower {
  readonly #moved = new Condition();
  readonly #watcher;
  #events: CacheEvent[] = [];
  /** Number of events received since the last `take`. */
  #fresh = 0;
  #ended: string | undefined;

  constructor(collection: Collection, after: Revision) {
    this.#watcher = collection.watch(
      { after },
      {
        event: (event) => {
          this.#events.push(event);
          this.#fresh++;
          this.#moved.notifyAll();
          return this.#fresh < takenMax;
        },
        closed: (reason) => {
          this.#ended = reason;
          this.#moved.notifyAll();
        },
      },
    );
  }

  /** Closed as slow: a client would open a new watch at the position where this one ended. */
  get fellBehind(): boolean {
    return this.#fresh === 0 && this.#ended === 'slow';
  }

  async moved(signal: AbortSignal): Promise<void> {
    if (this.#fresh === 0 && this.#ended === undefined) await this.#moved.wait(signal);
  }

  /** Takes the received events as changes of whole revisions. Updates `records`, the state before them. */
  take(records: Map<string, StoreRecord>): ChangeBatch {
    if (this.#fresh === 0 && this.#ended !== undefined) {
      throw new StoreError(this.#ended === 'closed' ? 'unavailable' : 'compacted', `the watch ended: ${this.#ended}`);
    }
    const { revision } = this.#watcher;
    // A watch may pause in the middle of a revision.
    const rest = this.#events.findIndex((event) => event.revision > revision);
    const taken = this.#events.splice(0, rest < 0 ? this.#events.length : rest);
    const changes = taken.map((event) => changeOf(event, records));
    this.#fresh = 0;
    this.#watcher.resume();
    return { changes, revision };
  }

  close(): void {
    this.#watcher.close();
  }
}

function changeOf({ type, entry, revision }: CacheEvent, records: Map<string, StoreRecord>): Change {
  const record = recordOf(entry);
  const previous = records.get(record.key);
  if (type === 'ADDED') {
    if (previous) throw new Error(`ADDED for ${record.key}, which was there`);
    records.set(record.key, record);
    return { type: 'create', ...record };
  }
  if (!previous) throw new Error(`${type} for ${record.key}, which was not there`);
  if (type === 'MODIFIED') {
    records.set(record.key, record);
    return { type: 'update', ...record, previous };
  }
  records.delete(record.key);
  return { type: 'delete', key: record.key, revision, previous };
}
