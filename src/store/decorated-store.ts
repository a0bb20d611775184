import type {
  BatchWrite,
  ChangeBatch,
  Committed,
  ListOptions,
  Page,
  Revision,
  Store,
  StoreRecord,
  UpdateOptions,
  WriteOptions,
} from './store.ts';

/** A store in front of another one, to which it passes every call on. A decorator overrides what it does differently. */
export class DecoratedStore implements Store {
  protected readonly store: Store;
  readonly alarms?: () => Promise<readonly string[]>;
  readonly historySize?: (upTo: Revision) => Promise<number>;
  readonly takeCompactionTurn?: (upTo: Revision) => Promise<boolean>;

  constructor(store: Store) {
    this.store = store;
    if (store.takeCompactionTurn) {
      this.takeCompactionTurn = async (upTo) => (await store.takeCompactionTurn?.(this.toInner(upTo))) ?? true;
    }
    if (store.alarms) this.alarms = async () => (await store.alarms?.()) ?? [];
    if (store.historySize) {
      this.historySize = async (upTo) => (await store.historySize?.(this.toInner(upTo))) ?? 0;
    }
  }

  /** The revision of the inner store; the same unless a decorator has others. */
  protected toInner(revision: Revision): Revision {
    return revision;
  }

  head(): Promise<Revision> {
    return this.store.head();
  }

  get knownHead(): Revision | undefined {
    return this.store.knownHead;
  }

  formMayChange(key: string): boolean {
    return this.store.formMayChange?.(key) ?? false;
  }

  get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    return this.store.get(key, at);
  }

  list(prefix: string, options?: ListOptions): Promise<Page> {
    return this.store.list(prefix, options);
  }

  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.store.create(key, value, options);
  }

  update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed> {
    return this.store.update(key, value, expected, options);
  }

  delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.store.delete(key, expected, options);
  }

  batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    return this.store.batch(writes);
  }

  changes(from: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    return this.store.changes(from, signal);
  }

  compact(upTo: Revision): Promise<void> {
    return this.store.compact(upTo);
  }

  size(): Promise<number> {
    return this.store.size();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
