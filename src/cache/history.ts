import type { Revision } from '../store/store.ts';
import type { ObjectChange } from './change.ts';

interface HistoryLimits {
  readonly eventsMax: number;
  readonly bytesMax: number;
  readonly ageMsMax: number;
}

interface Held {
  readonly change: ObjectChange;
  /** Monotonic time in milliseconds. */
  readonly heldSince: number;
}

/** The most recent changes of one resource, in order of revision. */
export class History {
  readonly #limits: HistoryLimits;
  readonly #changed: (bytes: number) => void;
  /** `#held[#first]` is the oldest; those before it have been dropped. */
  #held: (Held | undefined)[] = [];
  #first = 0;
  #bytes = 0;
  #floor: Revision;

  /**
   * `floor`: the history will contain every change after this revision. `changed` receives the number of bytes by which the
   * memory it holds grows or shrinks.
   */
  constructor(limits: HistoryLimits, floor: Revision, changed: (bytes: number) => void = () => {}) {
    this.#limits = limits;
    this.#floor = floor;
    this.#changed = changed;
  }

  /** The history contains every change after this revision. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Bytes of objects that it keeps in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  push(change: ObjectChange, now: number): void {
    const before = this.#bytes;
    this.#held.push({ change, heldSince: now });
    this.#bytes += change.weight;
    this.#dropBeyond(now);
    this.#changed(this.#bytes - before);
  }

  /** Drops changes beyond the limits. */
  trim(now: number): void {
    const before = this.#bytes;
    this.#dropBeyond(now);
    this.#changed(this.#bytes - before);
  }

  /** Drops the oldest changes until at most this many bytes are kept in memory. */
  shrink(bytesMax: number): void {
    const before = this.#bytes;
    this.#dropWhile(() => this.#bytes > bytesMax);
    this.#changed(this.#bytes - before);
  }

  #dropBeyond(now: number): void {
    const { eventsMax, bytesMax, ageMsMax } = this.#limits;
    this.#dropWhile(({ heldSince }) => {
      const count = this.#held.length - this.#first;
      return count > eventsMax || this.#bytes > bytesMax || now - heldSince > ageMsMax;
    });
  }

  #dropWhile(isBeyond: (oldest: Held) => boolean): void {
    for (;;) {
      const oldest = this.#held[this.#first];
      if (!oldest || !isBeyond(oldest)) break;
      this.#held[this.#first++] = undefined;
      this.#bytes -= oldest.change.weight;
      this.#floor = oldest.change.revision;
    }
    if (this.#first * 2 <= this.#held.length) return;
    this.#held = this.#held.slice(this.#first);
    this.#first = 0;
  }

  /** Drops everything. `floor` is the newest revision. */
  reset(floor: Revision): void {
    this.#changed(-this.#bytes);
    this.#held = [];
    this.#first = 0;
    this.#bytes = 0;
    this.#floor = floor;
  }

  /** Changes after `revision`, which must not be below the floor, in order. Ends early if the next change has been dropped. */
  *after(revision: Revision): IterableIterator<ObjectChange> {
    let low = this.#first;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#held[middle]?.change.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    const held = this.#held;
    for (let index = low; index < held.length; index++) {
      const item = held[index];
      if (!item) return;
      yield item.change;
    }
  }
}
