import type { Clock } from '../../base/clock.ts';
import type { Revision } from '../../store/store.ts';

/** A revision of the past. */
export interface HistoryMark {
  readonly revision: Revision;
  /** Bytes that had become history by then, counted from some moment before. */
  readonly bytes: number;
}

/**
 * Says how old revisions are at least, and how much history came after them, from what was seen of the store every so often:
 *
 *     at 0 s revision 5, at 10 s revision 9, at 20 s still 9, at 30 s revision 12
 *     at 75 s: 9 and all before it are older than a minute; 10 to 12 may be younger
 *
 * A revision counts from when it was first seen, never from earlier.
 */
export class HistoryMarks {
  readonly #clock: Clock;
  readonly #seen: (HistoryMark & { readonly atMs: number })[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This revision is there now, and so are all before it; one that is not newer than the last is overlooked. */
  see(revision: Revision, bytes = 0): void {
    if (revision <= (this.#seen.at(-1)?.revision ?? 0)) return;
    this.#seen.push({ revision, bytes, atMs: this.#clock.monotonic() });
  }

  /** The newest of what was seen that has come to this age since it was asked last. Each is given once. */
  takeOlderThan(ageMs: number): HistoryMark | undefined {
    const seenBefore = this.#clock.monotonic() - ageMs;
    const young = this.#seen.findIndex(({ atMs }) => atMs > seenBefore);
    return this.#take(young < 0 ? this.#seen.length : young);
  }

  /** The oldest of what was seen when at least so many bytes had become history, else the newest. Each is given once. */
  takeAt(bytes: number): HistoryMark | undefined {
    const reached = this.#seen.findIndex((mark) => mark.bytes >= bytes);
    return this.#take(reached < 0 ? this.#seen.length : reached + 1);
  }

  #take(count: number): HistoryMark | undefined {
    return this.#seen.splice(0, count).at(-1);
  }
}
