import { Roster, type RosterPlace } from '../../base/collections/roster.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Clock } from '../../base/time/clock.ts';

/**
 * Deadlines with one common delay: the oldest is always due first, so one timer and one ordered set serve any number of
 * requests. Precise to `precisionMs`.
 */
export class DeadlineQueue<T> implements Closable {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #expire: (item: T) => void;
  #waiting = new Roster<T>();
  /** By place. Monotonic milliseconds. */
  readonly #due: number[] = [];
  #timer: Closable | undefined;

  constructor(options: { readonly clock: Clock; readonly afterMs: number; readonly expire: (item: T) => void }) {
    this.#clock = options.clock;
    this.#afterMs = options.afterMs;
    this.#expire = options.expire;
  }

  /** The place is for `remove`. */
  add(item: T): RosterPlace {
    const place = this.#waiting.add(item);
    this.#due[place] = this.#clock.monotonic() + this.#afterMs;
    this.#timer ??= this.#clock.after(precisionMs, () => this.#sweep());
    return place;
  }

  /** Without effect on an item that has expired. */
  remove(item: T, place: RosterPlace): void {
    this.#waiting.delete(place, item);
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (let oldest = this.#waiting.first(); oldest; oldest = this.#waiting.first()) {
      const { member, place } = oldest;
      if ((this.#due[place] as number) > now) break;
      this.#waiting.delete(place, member);
      this.#expire(member);
    }
    this.#timer = this.#waiting.size > 0 ? this.#clock.after(precisionMs, () => this.#sweep()) : undefined;
  }

  close(): void {
    this.#timer?.close();
    this.#timer = undefined;
    this.#waiting = new Roster();
  }
}

const precisionMs = 1_000;
