import { compareKeys } from '../store/key-order.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry, RangeOptions, RequiredField, Snapshot } from './cache.ts';
import { prefixEnd } from './key-range.ts';
import type { CollectionState } from './past-states.ts';
import type { RangeStart } from './sorted-entries.ts';

/** A state of a collection under one of the revisions at which it was so. */
export class CollectionSnapshot implements Snapshot {
  readonly revision: Revision;
  readonly unreadable: ReadonlyMap<string, Revision>;
  readonly #state: CollectionState;

  constructor(state: CollectionState, revision: Revision) {
    this.revision = revision;
    this.unreadable = state.unreadable;
    this.#state = state;
  }

  get(key: string): CacheEntry | undefined {
    return this.#state.entries.get(key);
  }

  entries(prefix: string, options: RangeOptions = {}): IterableIterator<CacheEntry> {
    return this.#state.entries.range(rangeStart(prefix, options), prefixEnd(prefix));
  }

  entriesWith(
    field: RequiredField,
    prefix: string,
    options: RangeOptions = {},
  ): IterableIterator<CacheEntry> | undefined {
    return this.#state.find(field)?.range(rangeStart(prefix, options), prefixEnd(prefix));
  }

  /** O(log n). */
  count(prefix: string, options: RangeOptions = {}): number {
    const { key, exclusive } = rangeStart(prefix, options);
    const end = prefixEnd(prefix);
    const { entries } = this.#state;
    const before = entries.rank(key) + (exclusive && entries.get(key) ? 1 : 0);
    return Math.max(0, (end === undefined ? entries.size : entries.rank(end)) - before);
  }
}

const rangeStart = (prefix: string, { after }: RangeOptions): RangeStart =>
  after !== undefined && compareKeys(after, prefix) >= 0
    ? { key: after, exclusive: true }
    : { key: prefix, exclusive: false };
