import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';

/**
 * The streams of a connection that are over for us while the client may still send: what comes of them is dropped. A client
 * that has the whole response and still sends is told to stop (RFC 9113 section 8.1), but not at once: some take a reset
 * that comes together with the response for a failure.
 */
export class FinishedStreams implements Closable {
  readonly #clock: Clock;
  readonly #lingeringMax: number;
  readonly #reset: (id: number) => void;
  /** The oldest are forgotten. */
  readonly #known = new Set<number>();
  /** Those that are not reset yet, with the time when they will be. */
  readonly #lingering = new Map<number, number>();
  #timer: Closable | undefined;

  /** `reset` tells the client to stop. */
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

  /** The client was told to stop. */
  add(id: number): void {
    this.#known.add(id);
    if (this.#known.size > limits.finishedStreamsMax) this.#known.delete(firstOf(this.#known) as number);
  }

  /** The client is told to stop unless it does by itself. */
  linger(id: number): void {
    this.add(id);
    if (this.#lingering.size >= this.#lingeringMax) this.#stop(firstOf(this.#lingering.keys()) as number);
    this.#lingering.set(id, this.#clock.monotonic() + limits.lingerMs);
    this.#timer ??= this.#clock.after(limits.lingerMs, () => this.#stopDue());
  }

  /** The client sends no more. */
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
