import { DecoratedStore } from './decorated-store.ts';
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
  type UpdateOptions,
  type WriteOptions,
} from './store.ts';
import { claimKey, type MovedRevisions, parseClaim } from './store-claim.ts';

/**
 * A store whose records came from another one with higher revisions, see `MovedRevisions`. Clients go on from those that they have seen, which a
 * driver that counts by itself could not reach: etcd gives one revision to each transaction, and a copy of a data file may be at 10^15.
 */
export const movedRevisions = (store: Store, moved: MovedRevisions): Store => new MovedStore(store, moved);

/** The store with the revisions that its claim records. Closes it if that cannot be read. */
export async function asClaimed(store: Store): Promise<Store> {
  try {
    const record = await store.get(claimKey);
    const claim = record && parseClaim(record.value);
    return claim?.type === 'served' && claim.moved ? movedRevisions(store, claim.moved) : store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class MovedStore extends DecoratedStore {
  readonly #by: Revision;
  readonly #floor: Revision;

  constructor(store: Store, { by, floor }: MovedRevisions) {
    super(store);
    this.#by = by;
    this.#floor = floor;
  }

  override async head(): Promise<Revision> {
    return (await this.#asking(this.store.head())) + this.#by;
  }

  override get knownHead(): Revision | undefined {
    const head = this.store.knownHead;
    return head === undefined ? undefined : head + this.#by;
  }

  override async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    const record = await this.#asking(this.store.get(key, this.#past(at)));
    return record && this.#moved(record);
  }

  override async list(prefix: string, options: ListOptions = {}): Promise<Page> {
    const { at, ...more } = options;
    const past = this.#past(at);
    const page = await this.#asking(this.store.list(prefix, past === undefined ? more : { ...more, at: past }));
    return { ...page, revision: page.revision + this.#by, records: page.records.map((record) => this.#moved(record)) };
  }

  override create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.#committed(this.store.create(key, value, options));
  }

  override update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed> {
    return this.#committed(this.store.update(key, value, this.toInner(expected), options));
  }

  override delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#committed(this.store.delete(key, this.toInner(expected), options));
  }

  override async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    const sent = writes.map((write) =>
      write.verb === 'create' ? write : { ...write, expected: this.toInner(write.expected) },
    );
    const committed = await this.#asking(this.store.batch(sent));
    return committed.map(({ revision }) => ({ revision: revision + this.#by }));
  }

  override async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    this.#requireOwn(from);
    try {
      for await (const { changes, revision } of this.store.changes(this.toInner(from), signal)) {
        yield { changes: changes.map((change) => this.#movedChange(change)), revision: revision + this.#by };
      }
    } catch (error) {
      throw this.#movedError(error);
    }
  }

  override compact(upTo: Revision): Promise<void> {
    return this.#asking(this.store.compact(this.toInner(upTo)));
  }

  /** What no record has stays so: a precondition that cannot hold. */
  protected override toInner(revision: Revision): Revision {
    return Math.max(0, revision - this.#by);
  }

  #past(at: Revision | undefined): Revision | undefined {
    if (at === undefined) return undefined;
    this.#requireOwn(at);
    return this.toInner(at);
  }

  #requireOwn(revision: Revision): void {
    if (revision >= this.#floor) return;
    const message = `revision ${revision} is from before the data was moved here`;
    throw new StoreError('compacted', message, { revision: this.#floor });
  }

  async #committed(write: Promise<Committed>): Promise<Committed> {
    const { revision } = await this.#asking(write);
    return { revision: revision + this.#by };
  }

  async #asking<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#movedError(error);
    }
  }

  #movedError(error: unknown): unknown {
    if (!(error instanceof StoreError) || error.revision === undefined) return error;
    const { code, message, key, revision, cause } = error;
    return new StoreError(code, message, {
      ...(key !== undefined && { key }),
      revision: Math.max(revision + this.#by, code === 'compacted' ? this.#floor : 0),
      cause,
    });
  }

  #moved(record: StoreRecord): StoreRecord {
    return { ...record, revision: record.revision + this.#by };
  }

  #movedChange(change: Change): Change {
    const revision = change.revision + this.#by;
    switch (change.type) {
      case 'create':
        return { ...change, revision };
      case 'update':
        return { ...change, revision, previous: this.#moved(change.previous) };
      case 'delete':
        return { ...change, revision, previous: this.#moved(change.previous) };
    }
  }
}
