import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
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
import type { ReadValue, ValueTransformer } from './value-transformer.ts';

/**
 * A store whose driver keeps values in another form: values of reads, lists and change streams, previous values
 * included, pass through the transformer, in slices where they are many. Copies of the driver's data, such as backups,
 * contain the transformed form.
 */
export const transformedStore = (store: Store, transformer: ValueTransformer, clock: Pick<Clock, 'monotonic'>): Store =>
  new TransformedStore(store, transformer, clock);

/** No value can be encrypted now; nothing was written. */
export class EncryptionUnavailable extends StoreError {
  constructor(key: string, cause: unknown) {
    super('unavailable', `the value of ${key} cannot be encrypted: ${messageOf(cause)}`, { key, cause });
  }
}

/** The size of history is that of values as the driver stores them. */
class TransformedStore extends DecoratedStore {
  readonly #transformer: ValueTransformer;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(store: Store, transformer: ValueTransformer, clock: Pick<Clock, 'monotonic'>) {
    super(store);
    this.#transformer = transformer;
    this.#clock = clock;
  }

  override formMayChange(key: string): boolean {
    return this.#transformer.formMayChange?.(key) ?? super.formMayChange(key);
  }

  override async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    const record = await this.store.get(key, at);
    return record && this.#read(record);
  }

  override async list(prefix: string, options?: ListOptions): Promise<Page> {
    const page = await this.store.list(prefix, options);
    return { ...page, records: await this.#readEach(page.records, (record) => this.#read(record)) };
  }

  override async create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.store.create(key, this.#toStored(value, key), options);
  }

  override async update(
    key: string,
    value: Uint8Array,
    expected: Revision,
    options?: UpdateOptions,
  ): Promise<Committed> {
    return this.store.update(key, this.#toStored(value, key), expected, options);
  }

  override async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    const stored = writes.map((write) =>
      write.verb === 'delete' ? write : { ...write, value: this.#toStored(write.value, write.key) },
    );
    return this.store.batch(stored);
  }

  override async *changes(from: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    for await (const { changes, revision } of this.store.changes(from, signal)) {
      yield { changes: await this.#readEach(changes, (change) => this.#readChange(change)), revision };
    }
  }

  /** Values that wait for a key wait together. */
  async #readEach<T>(stored: readonly T[], read: (each: T) => T | Promise<T>): Promise<readonly T[]> {
    const slice = new TimeSlice(this.#clock);
    const all: (T | Promise<T>)[] = [];
    let waits = false;
    for (const each of stored) {
      if (slice.over) await slice.next();
      const one = read(each);
      waits ||= one instanceof Promise;
      all.push(one);
    }
    return waits ? Promise.all(all) : (all as readonly T[]);
  }

  #readChange(change: Change): Change | Promise<Change> {
    const previous = change.type === 'create' ? undefined : this.#read(change.previous);
    const written = change.type === 'delete' ? undefined : this.#read(change);
    if (previous instanceof Promise || written instanceof Promise) {
      return Promise.all([written, previous]).then(([one, other]) => changeOf(change, one, other));
    }
    return changeOf(change, written, previous);
  }

  #toStored(value: Uint8Array, key: string): Uint8Array {
    try {
      return this.#transformer.toStored(value, key);
    } catch (cause) {
      throw new EncryptionUnavailable(key, cause);
    }
  }

  /** One unreadable value does not prevent others from being read. */
  #read({ key, value, revision }: StoreRecord): StoreRecord | Promise<StoreRecord> {
    const readable = ({ bytes, stale }: ReadValue): StoreRecord =>
      stale ? { key, value: bytes, revision, stale } : { key, value: bytes, revision };
    const unreadable = (cause: unknown): StoreRecord => {
      const corrupt = new StoreError('corrupt', `the value of ${key} cannot be read`, { key, revision, cause });
      return { key, value: nothing, revision, corrupt };
    };
    try {
      const read = this.#transformer.fromStored(value, key);
      return read instanceof Promise ? read.then(readable, unreadable) : readable(read);
    } catch (cause) {
      return unreadable(cause);
    }
  }
}

/** The change with its values read: the one that it wrote, and the one before. */
function changeOf(change: Change, written: StoreRecord | undefined, previous: StoreRecord | undefined): Change {
  switch (change.type) {
    case 'create':
      return { type: 'create', ...(written ?? change) };
    case 'update':
      return { type: 'update', ...(written ?? change), previous: previous ?? change.previous };
    case 'delete': {
      const { type, key, revision } = change;
      return { type, key, revision, previous: previous ?? change.previous };
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const nothing = new Uint8Array();
