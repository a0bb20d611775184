import { folderOf } from './key-resource.ts';
import type {
  BatchWrite,
  Committed,
  KeyStore,
  ListOptions,
  Page,
  Revision,
  StoreRecord,
  UpdateOptions,
  WriteOptions,
} from './store.ts';

interface SplitStoreOptions {
  /** Has the keys of all other resources, and those of none. */
  readonly main: KeyStore;
  /** By the folders of resources (`folderOf`), in whichever scope. */
  readonly others: ReadonlyMap<string, KeyStore>;
}

/**
 * Several stores as one: each resource has its keys in one of them. Revisions are those of the key's store. There is no
 * transaction over stores: a batch has keys of one, or is a RangeError and nothing is written. A list has one resource's.
 */
export class SplitStore implements Required<KeyStore> {
  readonly #options: SplitStoreOptions;

  constructor(options: SplitStoreOptions) {
    this.#options = options;
  }

  #of(key: string): KeyStore {
    const { main, others } = this.#options;
    return others.get(folderOf(key)) ?? main;
  }

  formMayChange(key: string): boolean {
    return this.#of(key).formMayChange?.(key) ?? false;
  }

  get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    return this.#of(key).get(key, at);
  }

  list(prefix: string, options?: ListOptions): Promise<Page> {
    return this.#of(prefix).list(prefix, options);
  }

  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.#of(key).create(key, value, options);
  }

  update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed> {
    return this.#of(key).update(key, value, expected, options);
  }

  delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#of(key).delete(key, expected, options);
  }

  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    const [store = this.#options.main, another] = new Set(writes.map(({ key }) => this.#of(key)));
    if (another) throw new RangeError('a batch has keys of several stores');
    return store.batch(writes);
  }
}
