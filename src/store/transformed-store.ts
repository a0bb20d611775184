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
import type { ValueTransformer } from './value-transformer.ts';

/**
 * A store whose driver keeps values in another form: values of reads, lists and change streams, previous values
 * included, pass through the transformer. Copies of the driver's data, such as backups, contain the transformed form.
 */
export const transformedStore = (store: Store, transformer: ValueTransformer): Store =>
  new TransformedStore(store, transformer);

/** The size of history is that of values as the driver stores them. */
class TransformedStore extends DecoratedStore {
  readonly #transformer: ValueTransformer;

  constructor(store: Store, transformer: ValueTransformer) {
    super(store);
    this.#transformer = transformer;
  }

  override async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    const record = await this.store.get(key, at);
    return record && this.#read(record);
  }

  override async list(prefix: string, options?: ListOptions): Promise<Page> {
    const page = await this.store.list(prefix, options);
    return { ...page, records: page.records.map((record) => this.#read(record)) };
  }

  override async create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.store.create(key, this.#transformer.toStored(value, key), options);
  }

  override async update(
    key: string,
    value: Uint8Array,
    expected: Revision,
    options?: UpdateOptions,
  ): Promise<Committed> {
    return this.store.update(key, this.#transformer.toStored(value, key), expected, options);
  }

  override async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    const stored = writes.map((write) =>
      write.verb === 'delete' ? write : { ...write, value: this.#transformer.toStored(write.value, write.key) },
    );
    return this.store.batch(stored);
  }

  override async *changes(from: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    for await (const { changes, revision } of this.store.changes(from, signal)) {
      yield { changes: changes.map((change) => this.#readChange(change)), revision };
    }
  }

  #readChange(change: Change): Change {
    switch (change.type) {
      case 'create':
        return { type: 'create', ...this.#read(change) };
      case 'update':
        return { type: 'update', ...this.#read(change), previous: this.#read(change.previous) };
      case 'delete': {
        const { type, key, revision } = change;
        return { type, key, revision, previous: this.#read(change.previous) };
      }
    }
  }

  /** One unreadable value does not prevent others from being read. */
  #read({ key, value, revision }: StoreRecord): StoreRecord {
    try {
      const { bytes, stale } = this.#transformer.fromStored(value, key);
      return stale ? { key, value: bytes, revision, stale } : { key, value: bytes, revision };
    } catch (cause) {
      const corrupt = new StoreError('corrupt', `the value of ${key} cannot be read`, { key, revision, cause });
      return { key, value: nothing, revision, corrupt };
    }
  }
}

const nothing = new Uint8Array();
