import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { SeatData } from './thread-messages.ts';

/** Each thread counts up a number in shared memory as long as its event loop turns. */

/** Beats from now on, until the thread ends. */
export function beat({ beats, number }: Pick<SeatData, 'beats' | 'number'>, clock: Pick<Clock, 'after'>): void {
  Atomics.add(new Int32Array(beats), number, 1);
  clock.after(limits.threadBeatMs, () => beat({ beats, number }, clock));
}

/**
 * Finds a thread whose event loop stands still. Looks are counted, not time: a process that was stopped, or slept with its machine,
 * did not look either.
 */
export class Heartbeats {
  readonly memory: SharedArrayBuffer;
  readonly #beats: Int32Array;
  readonly #seen: number[];
  /** Looks since the last beat; not a number that can be reached once that was told. */
  readonly #quiet: number[];

  constructor(threads: number) {
    this.memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * threads);
    this.#beats = new Int32Array(this.memory);
    this.#seen = new Array(threads).fill(0);
    this.#quiet = new Array(threads).fill(0);
  }

  /** Another thread has this number. */
  restart(number: number): void {
    this.#quiet[number] = 0;
  }

  /** To be called for each thread every `limits.threadBeatMs`. True, once, when it has been silent for so long. */
  fallsSilent(number: number, silenceMsMax: number): boolean {
    const beats = Atomics.load(this.#beats, number);
    const quiet = beats === this.#seen[number] ? (this.#quiet[number] ?? 0) + 1 : 0;
    const isOver = quiet * limits.threadBeatMs >= silenceMsMax && quiet !== Number.POSITIVE_INFINITY;
    this.#seen[number] = beats;
    this.#quiet[number] = isOver ? Number.POSITIVE_INFINITY : quiet;
    return isOver;
  }
}
