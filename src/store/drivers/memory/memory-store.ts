import { compareKeys } from '../../../base/collections/key-order.ts';
import { SortedEntries } from '../../../base/collections/sorted-entries.ts';
import { Condition } from '../../../base/condition.ts';
import { checkBatch } from '../../batch.ts';
import {
  type BatchWrite,
  type Change,
  type ChangeBatch,
  type Committed,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreRecord,
} from '../../store.ts';

export interface MemoryStoreOptions {
  /** The initial revision, with no keys and no history before it. */
  readonly revision?: Revision;
  /** `shared`: the writes of a batch share one revision, as in etcd. Default: one revision each. */
  readonly batchRevisions?: 'own' | 'shared';
}

/** A store for tests, without durability: the model that the other drivers are compared with. */
export const openMemoryStore = (options: MemoryStoreOptions = {}): Store => new MemoryStore(options);

/** The state of a key from `revision` on: a record, or nothing after a deletion. */
interface Version {
  readonly revision: Revision;
  readonly record: StoreRecord | undefined;
}

/** All retained versions of a key, oldest first. */
interface KeyVersions {
  readonly key: string;
  readonly versions: Version[];
}

/** Largest number of changes in one batch of a change stream. */
const batchChangesMax = 1_000;

/**
 * Two views of one history: `#keys` by key, `#log` by revision. After the writes
 *
 *     2 create a=x,  3 update a=y,  4 create b=z,  5 delete a
 *
 * `#keys` is a: [2 x, 3 y, 5 nothing], b: [4 z], and `#log` has the four changes. compact(3) leaves a: [3 y, 5
 * nothing], b: [4 z] and the changes 4 and 5: the state at 3 and the changes after it.
 */
class MemoryStore implements Store {
  readonly #keys = SortedEntries.empty<KeyVersions>();
  readonly #moved = new Condition();
  readonly #batchRevisions: 'own' | 'shared';
  #log: Change[] = [];
  #head: Revision;
  #compacted: Revision;
  #closed = false;

  constructor({ revision, batchRevisions = 'own' }: MemoryStoreOptions) {
    this.#batchRevisions = batchRevisions;
    this.#head = revision ?? 1;
    this.#compacted = revision ?? 0;
  }

  async head(): Promise<Revision> {
    this.#assertOpen();
    return this.#head;
  }

  get knownHead(): Revision | undefined {
    return this.#closed ? undefined : this.#head;
  }

  async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    this.#assertOpen();
    return this.#recordAt(this.#keys.get(key)?.versions ?? [], this.#readable(at));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<Page> {
    this.#assertOpen();
    const revision = this.#readable(options.at);
    const { after, limit = Number.POSITIVE_INFINITY } = options;
    const records: StoreRecord[] = [];
    let remaining = 0;
    const start = after !== undefined && compareKeys(after, prefix) > 0 ? after : prefix;
    for (const { key, versions } of this.#keys.range({ key: start, exclusive: false }, undefined)) {
      if (!key.startsWith(prefix)) break;
      if (key === after) continue;
      const record = this.#recordAt(versions, revision);
      if (!record) continue;
      if (records.length < limit) records.push(record);
      else if (remaining++ === 0 && options.remaining === 'whether') break;
    }
    return { records, revision, remaining };
  }

  async create(key: string, value: Uint8Array): Promise<Committed> {
    this.#assertOpen();
    return this.#commit(this.#judge({ verb: 'create', key, value }, this.#head + 1));
  }

  async update(key: string, value: Uint8Array, expected: Revision): Promise<Committed> {
    this.#assertOpen();
    return this.#commit(this.#judge({ verb: 'update', key, value, expected }, this.#head + 1));
  }

  async delete(key: string, expected: Revision): Promise<Committed> {
    this.#assertOpen();
    return this.#commit(this.#judge({ verb: 'delete', key, expected }, this.#head + 1));
  }

  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    this.#assertOpen();
    checkBatch(writes);
    const first = this.#head + 1;
    const isShared = this.#batchRevisions === 'shared';
    const changes = writes.map((write, index) => this.#judge(write, isShared ? first : first + index));
    return changes.map((change) => this.#commit(change));
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    let position = from;
    while (!signal.aborted) {
      this.#assertOpen();
      this.#assertKept(position);
      const changes = this.#changesAfter(position);
      const last = changes.at(-1);
      if (last) {
        position = last.revision;
        yield { changes, revision: position };
      } else {
        await this.#moved.wait(signal);
      }
    }
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertOpen();
    this.#assertReached(upTo);
    if (upTo <= this.#compacted) return;
    this.#compacted = upTo;
    this.#log = this.#log.filter((change) => change.revision > upTo);
    for (const kept of [...this.#all()]) this.#forget(kept, upTo);
  }

  /** Of keys and values, history included. */
  async size(): Promise<number> {
    this.#assertOpen();
    let bytes = 0;
    for (const { key, versions } of this.#all()) {
      for (const { record } of versions) bytes += key.length + (record?.value.length ?? 0);
    }
    return bytes;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#moved.notifyAll();
  }

  /** The change that a write produces. Throws the error if it is refused. */
  #judge(write: BatchWrite, revision: Revision): Change {
    const { key } = write;
    switch (write.verb) {
      case 'create': {
        const current = this.#current(key);
        if (current) throw new StoreError('exists', `key ${key} exists`, { key, revision: current.revision });
        return { type: 'create', key, revision, value: write.value };
      }
      case 'update':
        return { type: 'update', key, revision, value: write.value, previous: this.#expect(key, write.expected) };
      case 'delete':
        return { type: 'delete', key, revision, previous: this.#expect(key, write.expected) };
    }
  }

  #commit(change: Change): Committed {
    const { key, revision } = change;
    const record = change.type === 'delete' ? undefined : { key, value: change.value, revision };
    const kept = this.#keys.get(key);
    if (kept) kept.versions.push({ revision, record });
    else this.#keys.set({ key, versions: [{ revision, record }] });
    this.#log.push(change);
    this.#head = revision;
    this.#moved.notifyAll();
    return { revision };
  }

  /** Drops versions superseded by one not after `upTo`, and a deletion that is then the only version left. */
  #forget({ key, versions }: KeyVersions, upTo: Revision): void {
    const replaced = versions.findLastIndex((version) => version.revision <= upTo);
    const kept = versions.slice(Math.max(replaced, 0)).filter((version) => version.record || version.revision > upTo);
    if (kept.length === 0) this.#keys.delete(key);
    else this.#keys.set({ key, versions: kept });
  }

  #all(): Iterable<KeyVersions> {
    return this.#keys.range({ key: '', exclusive: false }, undefined);
  }

  #current(key: string): StoreRecord | undefined {
    return this.#keys.get(key)?.versions.at(-1)?.record;
  }

  #recordAt(versions: readonly Version[], at: Revision): StoreRecord | undefined {
    return versions.findLast((version) => version.revision <= at)?.record;
  }

  #changesAfter(position: Revision): readonly Change[] {
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#log[middle]?.revision ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    let end = low + batchChangesMax;
    // A revision is not split.
    while (end < this.#log.length && this.#log[end]?.revision === this.#log[end - 1]?.revision) end++;
    return this.#log.slice(low, end);
  }

  #expect(key: string, expected: Revision): StoreRecord {
    const current = this.#current(key);
    if (!current) throw new StoreError('notFound', `key ${key} is absent`, { key });
    if (current.revision === expected) return current;
    const message = `key ${key} is at revision ${current.revision}, not ${expected}`;
    throw new StoreError('conflict', message, { key, revision: current.revision });
  }

  #readable(at: Revision | undefined): Revision {
    if (at === undefined) return this.#head;
    this.#assertReached(at);
    this.#assertKept(at);
    return at;
  }

  #assertReached(revision: Revision): void {
    if (revision <= this.#head) return;
    throw new StoreError('futureRevision', `revision ${revision} is beyond the head, ${this.#head}`, {
      revision: this.#head,
    });
  }

  #assertKept(revision: Revision): void {
    if (revision >= this.#compacted) return;
    throw new StoreError('compacted', `history before revision ${this.#compacted} is gone`, {
      revision: this.#compacted,
    });
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
  }
}
