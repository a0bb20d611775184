import type { ReadonlySortedEntries } from '../base/sorted-entries.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry, RequiredField } from './cache.ts';

/** What a collection holds, unchanging. */
export interface CollectionState {
  readonly entries: ReadonlySortedEntries<CacheEntry>;
  /** As Snapshot.corrupt. */
  readonly corrupt: ReadonlyMap<string, Revision>;
  /** The entries with a value of an indexed field. Undefined where there is no index, or it is one of a later state. */
  find(field: RequiredField): ReadonlySortedEntries<CacheEntry> | undefined;
}

/** A state, and the revisions, both included, at which the collection was exactly so. */
interface PastState {
  readonly from: Revision;
  readonly to: Revision;
  readonly state: CollectionState;
  /** Monotonic time, milliseconds. */
  readonly heldSince: number;
}

/** States of the recent past. There is none for revisions in the middle of a batch of changes. */
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

  /** Drops what is too old, or ended before `floor`: the changes since then are no longer held, so nothing else should keep
   * alive what they replaced. */
  trim(now: number, floor: Revision): void {
    const kept = this.#held.findIndex((past) => now - past.heldSince <= this.#ageMsMax && past.to >= floor);
    if (kept !== 0) this.#held = kept < 0 ? [] : this.#held.slice(kept);
  }

  /** Drops what ended before `floor`, as `trim` does. */
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
