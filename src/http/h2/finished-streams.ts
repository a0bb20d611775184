import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';

/**
 * Streams that the server is done with while the client may still send: their frames are dropped. A client that has
 * the whole response and still sends is told to stop by RST_STREAM (RFC 9113 section 8.1), but not immediately: some
 * clients treat a reset that arrives together with the response as a failure.
 */
export class FinishedStreams implements Closable {
  readonly #clock: Clock;
  readonly #lingeringMax: number;
  readonly #reset: (id: number) => void;
  /** All finished streams; the oldest are evicted. */
  readonly #known = new Set<number>();
  /** Streams that are not reset yet, with the time of their reset. */
  readonly #lingering = new Map<number, number>();
  #timer: Closable | undefined;

  /** `reset` sends RST_STREAM. */
  constructor(options: {
    readonly clock: Clock;
    readonly lingeringMax: number;
    readonly reset: (id: number) => void;
  }) {
    this.#clock = options.clock;
    this.#lingeringMax = options.lingeringMax;
    this.#reset = options.reset;
  }

  has(id: number): boolean {
    return this.#known.has(id);
  }

  /** Adds a stream that was reset. */
  add(id: number): void {
    this.#known.add(id);
    if (this.#known.size > limits.finishedStreamsMax) this.#known.delete(firstOf(this.#known) as number);
  }

  /** Adds a stream that will be reset unless the client ends it first. */
  linger(id: number): void {
    this.add(id);
    if (this.#lingering.size >= this.#lingeringMax) this.#stop(firstOf(this.#lingering.keys()) as number);
    this.#lingering.set(id, this.#clock.monotonic() + limits.lingerMs);
    this.#timer ??= this.#clock.after(limits.lingerMs, () => this.#stopDue());
  }

  /** The client ended the stream. */
  ended(id: number): void {
    this.#known.delete(id);
    this.#lingering.delete(id);
  }

  #stop(id: number): void {
    this.#lingering.delete(id);
    this.#reset(id);
  }

  #stopDue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (const [id, due] of this.#lingering) {
      if (due > now) {
        this.#timer = this.#clock.after(due - now, () => this.#stopDue());
        return;
      }
      this.#stop(id);
    }
  }

  close(): void {
    this.#timer?.close();
    this.#lingering.clear();
  }
}

function firstOf<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value;
  return undefined;
}
