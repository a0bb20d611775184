import type { Clock } from '../../base/time/clock.ts';
import type { Revision } from '../../store/store.ts';

/** A past revision. */
export interface HistoryMark {
  readonly revision: Revision;
  /** Total history bytes at that revision, counted from an arbitrary start. */
  readonly bytes: number;
}

/**
 * Bounds the age of revisions from periodic observations of the head, and how much history followed them:
 *
 *     at 0 s revision 5, at 10 s revision 9, at 20 s still 9, at 30 s revision 12
 *     at 75 s: 9 and all before it are older than a minute; 10 to 12 may be younger
 *
 * A revision's age counts from its first observation, never from earlier.
 */
export class HistoryMarks {
  readonly #clock: Clock;
  readonly #seen: (HistoryMark & { readonly atMs: number })[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the current head; ignored unless it is newer than the last. */
  record(revision: Revision, bytes = 0): void {
    if (revision <= (this.#seen.at(-1)?.revision ?? 0)) return;
    this.#seen.push({ revision, bytes, atMs: this.#clock.monotonic() });
  }

  /** Takes the newest mark of at least this age and drops the older ones. Each is returned once. */
  takeOlderThan(ageMs: number): HistoryMark | undefined {
    const seenBefore = this.#clock.monotonic() - ageMs;
    const young = this.#seen.findIndex(({ atMs }) => atMs > seenBefore);
    return this.#take(young < 0 ? this.#seen.length : young);
  }

  /** Takes the oldest mark with at least this many history bytes, else the newest. Each is returned once. */
  takeAt(bytes: number): HistoryMark | undefined {
    const reached = this.#seen.findIndex((mark) => mark.bytes >= bytes);
    return this.#take(reached < 0 ? this.#seen.length : reached + 1);
  }

  #take(count: number): HistoryMark | undefined {
    return this.#seen.splice(0, count).at(-1);
  }
}
