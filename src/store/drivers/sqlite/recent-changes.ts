import type { Change, Revision } from '../../store.ts';

interface RecentLimits {
  readonly changesMax: number;
  readonly bytesMax: number;
}

/**
 * The last changes of a store, from which all change streams read that keep up. Change streams have no buffers of their own: one that
 * falls behind what is kept here reads the file's history instead, so that a stalled consumer costs nothing.
 *
 * With the changes 5 to 9 kept of a store whose head is 9: after(9) is [], after(7) is [8, 9], after(4) is [5..9], and
 * after(3) is undefined, because 4 is not here.
 */
export class RecentChanges {
  readonly #limits: RecentLimits;
  #changes: Change[] = [];
  /** Changes at the start of `#changes` that are no longer kept; cut off when they are many. */
  #dropped = 0;
  #bytes = 0;
  /** Every change after this revision is kept. */
  #floor: Revision;

  constructor(head: Revision, limits: RecentLimits) {
    this.#floor = head;
    this.#limits = limits;
  }

  /** Bytes of the values that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#changes.length - this.#dropped;
  }

  /** Adds changes that follow those that are kept. */
  add(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += sizeOf(change);
    }
    this.#trim();
  }

  /** At most `limit` changes that follow `revision`; undefined where some of them are no longer kept. */
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

/** Of the values; what surrounds them is small and bounded by the number of changes. */
const sizeOf = (change: Change): number =>
  (change.type === 'delete' ? 0 : change.value.length) + (change.type === 'create' ? 0 : change.previous.value.length);
