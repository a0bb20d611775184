import type { ByteSpan } from '../base/collections/byte-span.ts';
import { compareKeys } from '../base/collections/key-order.ts';
import type { RangeStart } from '../base/collections/sorted-entries.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry, RangeCut, RangeOptions, RequiredField, Snapshot } from './cache.ts';
import { runsOf } from './entries/slab.ts';
import { prefixEnd } from './key-range.ts';
import type { CollectionState } from './past-states.ts';

/** A collection state at one of the revisions for which it is valid. */
export class CollectionSnapshot implements Snapshot {
  readonly revision: Revision;
  readonly corrupt: ReadonlyMap<string, Revision>;
  readonly #state: CollectionState;

  constructor(state: CollectionState, revision: Revision) {
    this.revision = revision;
    this.corrupt = state.corrupt;
    this.#state = state;
  }

  get(key: string): CacheEntry | undefined {
    return this.#state.entries.get(key);
  }

  entries(prefix: string, options: RangeOptions = {}): IterableIterator<CacheEntry> {
    return this.#state.entries.range(rangeStart(prefix, options), rangeEnd(prefix, options));
  }

  entriesWith(
    field: RequiredField,
    prefix: string,
    options: RangeOptions = {},
  ): IterableIterator<CacheEntry> | undefined {
    return this.#state.find(field)?.range(rangeStart(prefix, options), rangeEnd(prefix, options));
  }

  *runs(prefix: string, options: RangeOptions = {}): IterableIterator<ByteSpan> {
    const { entries } = this.#state;
    const ofLeaves = entries.summaries(rangeStart(prefix, options), rangeEnd(prefix, options), runsOf);
    for (const runs of ofLeaves) yield* runs;
  }

  cut(prefix: string, options: RangeOptions, limit: number): RangeCut | undefined {
    const { first, end } = this.#places(prefix, options);
    const cut = first + limit;
    if (cut >= end) return undefined;
    const { entries } = this.#state;
    const [last, next] = [entries.at(cut - 1), entries.at(cut)];
    return last && next && { last, next, remaining: end - cut };
  }

  count(prefix: string, options: RangeOptions = {}): number {
    const { first, end } = this.#places(prefix, options);
    return Math.max(0, end - first);
  }

  /** Ranks in the collection of the first entry of the range and of the first entry after it. */
  #places(prefix: string, options: RangeOptions): { readonly first: number; readonly end: number } {
    const { entries } = this.#state;
    const { key, exclusive } = rangeStart(prefix, options);
    const end = rangeEnd(prefix, options);
    return {
      first: entries.rank(key) + (exclusive && entries.get(key) ? 1 : 0),
      end: end === undefined ? entries.size : entries.rank(end),
    };
  }
}

const rangeStart = (prefix: string, { after }: RangeOptions): RangeStart =>
  after !== undefined && compareKeys(after, prefix) >= 0
    ? { key: after, exclusive: true }
    : { key: prefix, exclusive: false };

function rangeEnd(prefix: string, { before }: RangeOptions): string | undefined {
  const end = prefixEnd(prefix);
  return before !== undefined && (end === undefined || compareKeys(before, end) < 0) ? before : end;
}
