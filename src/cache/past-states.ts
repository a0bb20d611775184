import type { ReadonlySortedEntries } from '../base/collections/sorted-entries.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry, RequiredField } from './cache.ts';

/** Immutable content of a collection. */
export interface CollectionState {
  readonly entries: ReadonlySortedEntries<CacheEntry>;
  /** See Snapshot.corrupt. */
  readonly corrupt: ReadonlyMap<string, Revision>;
  /** Entries with a value of an indexed field. Undefined if there is no index, or it already reflects a later state. */
  find(field: RequiredField): ReadonlySortedEntries<CacheEntry> | undefined;
}

/** A state and the inclusive range of revisions for which it is valid. */
interface PastState {
  readonly from: Revision;
  readonly to: Revision;
  readonly state: CollectionState;
  /** Monotonic time in milliseconds. */
  readonly heldSince: number;
}

/** Recent states. None is kept for revisions in the middle of a batch of changes. */
export class PastStates {
  readonly #countMax: number;
  readonly #ageMsMax: number;
  /** In order of revision. */
  #held: PastState[] = [];

  constructor(limits: { readonly countMax: number; readonly ageMsMax: number }) {
    this.#countMax = limits.countMax;
    this.#ageMsMax = limits.ageMsMax;
  }

  push(past: PastState): void {
    this.#held.push(past);
    if (this.#held.length > this.#countMax) this.#held.shift();
  }

  /**
   * Drops states that are too old or ended before `floor`: the history has dropped the changes since then, so the objects they
   * replaced should not stay in memory.
   */
  trim(now: number, floor: Revision): void {
    const kept = this.#held.findIndex((past) => now - past.heldSince <= this.#ageMsMax && past.to >= floor);
    if (kept !== 0) this.#held = kept < 0 ? [] : this.#held.slice(kept);
  }

  /** Drops states that ended before `floor`, as `trim` does. */
  dropBefore(floor: Revision): void {
    const kept = this.#held.findIndex((past) => past.to >= floor);
    if (kept !== 0) this.#held = kept < 0 ? [] : this.#held.slice(kept);
  }

  clear(): void {
    this.#held = [];
  }

  at(revision: Revision): CollectionState | undefined {
    return this.#held.findLast((past) => past.from <= revision && revision <= past.to)?.state;
  }
}
