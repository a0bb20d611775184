import type { Clock } from '../base/clock.ts';
import type { Revision } from '../store/store.ts';

/**
 * Says how old revisions are at least, from what was seen of the store every so often:
 *
 *     at 0 s revision 5, at 10 s revision 9, at 20 s still 9, at 30 s revision 12
 *     at 75 s: 9 and all before it are older than a minute; 10 to 12 may be younger
 *
 * A revision counts from when it was first seen, never from earlier.
 */
export class RevisionAges {
  readonly #clock: Clock;
  readonly #seen: { readonly revision: Revision; readonly atMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This revision is there now, and so are all before it. Revisions come in their order. */
  see(revision: Revision): void {
    if (this.#seen.at(-1)?.revision !== revision) this.#seen.push({ revision, atMs: this.#clock.monotonic() });
  }

  /** The newest of what was seen that has come to this age since it was asked last. Each is given once. */
  takeOlderThan(ageMs: number): Revision | undefined {
    const seenBefore = this.#clock.monotonic() - ageMs;
    let newest: Revision | undefined;
    for (let first = this.#seen[0]; first && first.atMs <= seenBefore; first = this.#seen[0]) {
      newest = first.revision;
      this.#seen.shift();
    }
    return newest;
  }
}
