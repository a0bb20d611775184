import type { Change, Revision } from '../../store.ts';

interface RecentLimits {
  readonly changesMax: number;
  readonly bytesMax: number;
}

/**
 * The last changes of a store, shared by all change streams that keep up. Change streams have no buffers of their own:
 * one that falls behind reads history from the file instead, so a stalled consumer costs nothing.
 *
 * If changes 5 to 9 are retained and the head is 9: after(9) is [], after(7) is [8, 9], after(4) is [5..9], and
 * after(3) is undefined, because 4 is not retained.
 */
export class RecentChanges {
  readonly #limits: RecentLimits;
  #changes: Change[] = [];
  /** Number of changes at the start of `#changes` that are no longer retained; removed in bulk. */
  #dropped = 0;
  #bytes = 0;
  /** Every change after this revision is retained. */
  #floor: Revision;

  constructor(head: Revision, limits: RecentLimits) {
    this.#floor = head;
    this.#limits = limits;
  }

  /** Bytes of the retained values. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#changes.length - this.#dropped;
  }

  /** Appends changes that directly follow the retained ones. */
  add(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += sizeOf(change);
    }
    this.#trim();
  }

  /** At most `limit` changes after `revision`; undefined if some of them are no longer retained. */
  after(revision: Revision, limit: number): readonly Change[] | undefined {
    if (revision < this.#floor) return undefined;
    const start = this.#indexAfter(revision);
    return this.#changes.slice(start, start + limit);
  }

  #indexAfter(revision: Revision): number {
    let low = this.#dropped;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #trim(): void {
    while (this.count > this.#limits.changesMax || (this.#bytes > this.#limits.bytesMax && this.count > 0)) {
      const change = this.#changes[this.#dropped++];
      if (!change) break;
      this.#bytes -= sizeOf(change);
      this.#floor = change.revision;
    }
    if (this.#dropped > this.count) {
      this.#changes = this.#changes.slice(this.#dropped);
      this.#dropped = 0;
    }
  }
}

/** Bytes of the values; the overhead is small and bounded by the number of changes. */
const sizeOf = (change: Change): number =>
  (change.type === 'delete' ? 0 : change.value.length) + (change.type === 'create' ? 0 : change.previous.value.length);
