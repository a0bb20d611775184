import { compareKeys } from '../store/key-order.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry, RangeOptions, Snapshot } from './cache.ts';
import { prefixEnd } from './key-range.ts';
import type { CollectionState } from './past-states.ts';
import type { RangeStart, ReadonlySortedEntries } from './sorted-entries.ts';

/** A state of a collection under one of the revisions at which it was so. */
export class CollectionSnapshot implements Snapshot {
  readonly revision: Revision;
  readonly unreadable: ReadonlyMap<string, Revision>;
  readonly #entries: ReadonlySortedEntries<CacheEntry>;

  constructor(state: CollectionState, revision: Revision) {
    this.revision = revision;
    this.unreadable = state.unreadable;
    this.#entries = state.entries;
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  entries(prefix: string, options: RangeOptions = {}): IterableIterator<CacheEntry> {
    return this.#entries.range(rangeStart(prefix, options), prefixEnd(prefix));
  }

  /** O(log n). */
  count(prefix: string, options: RangeOptions = {}): number {
    const { key, exclusive } = rangeStart(prefix, options);
    const end = prefixEnd(prefix);
    const before = this.#entries.rank(key) + (exclusive && this.#entries.get(key) ? 1 : 0);
    return Math.max(0, (end === undefined ? this.#entries.size : this.#entries.rank(end)) - before);
  }
}

const rangeStart = (prefix: string, { after }: RangeOptions): RangeStart =>
  after !== undefined && compareKeys(after, prefix) >= 0
    ? { key: after, exclusive: true }
    : { key: prefix, exclusive: false };
