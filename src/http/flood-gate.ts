import { FairQueue } from '../base/collections/fair-queue.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';

/** Whom the requests of a connection are counted for: a tenant, as far as the gate knows it. */
export class Sender {
  /** The turn of the event loop that `requests` were counted in. */
  turn = 0;
  requests = 0;
  isFlooding = false;
  /** Its connections that may write much at once. */
  largeWriters = 0;
}

/** Reads requests until the given time. Monotonic milliseconds. */
export type HeldRead = (untilMs: number) => void;

/**
 * Keeps a flood of one sender from taking the event loop away from others, before anything is spent on its requests but
 * their decryption: connections of a flooding sender are not read until the gate gives them time. While others send
 * requests, all floods together get a small part of the time, in short slices; otherwise as much as there is. Senders who
 * flood take turns.
 *
 * A sender floods if more requests of it are read in one turn of the event loop than a usual number of clients can send at
 * once. Rates say nothing: one client that waits for each answer may send ten thousand requests a second.
 */
export class FloodGate implements Closable {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<Sender, HeldRead>();
  readonly #flooding = new Set<Sender>();
  #turn = 1;
  #countsTurn = false;
  /** Requests of those who do not flood, and how many there were when the gate last looked, and when they last grew. */
  #others = 0;
  #othersSeen = 0;
  #othersAtMs = Number.NEGATIVE_INFINITY;
  /** No slice begins before this time while others send requests. */
  #dueMs = 0;
  #isArmed = false;
  #timer: Closable | undefined;
  #review: Closable | undefined;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a request that was read. Undefined: of a sender who is never held. */
  count(sender: Sender | undefined): void {
    if (sender === undefined) {
      this.#others += 1;
      return;
    }
    if (sender.turn !== this.#turn) {
      sender.turn = this.#turn;
      sender.requests = 0;
      this.#endTurnLater();
    }
    sender.requests += 1;
    if (sender.isFlooding) return;
    this.#others += 1;
    if (sender.requests > limits.floodRequestsPerTurn) this.#floods(sender);
  }

  /** Whether the connections of this sender must wait for the gate. */
  holds(sender: Sender | undefined): boolean {
    return sender?.isFlooding === true && !this.#closed;
  }

  /** Calls `read` when the sender gets time again. */
  wait(sender: Sender, read: HeldRead): void {
    this.#waiting.add(sender, read);
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
    this.#review?.close();
  }

  #endTurnLater(): void {
    if (this.#countsTurn) return;
    this.#countsTurn = true;
    setImmediate(() => {
      this.#countsTurn = false;
      this.#turn += 1;
    });
  }

  #floods(sender: Sender): void {
    sender.isFlooding = true;
    this.#flooding.add(sender);
    this.#review ??= this.#clock.after(limits.floodMs, () => this.#reviewAll());
  }

  /** Those of whom too many still wait go on flooding. Others begin anew. */
  #reviewAll(): void {
    this.#review = undefined;
    for (const sender of this.#flooding) {
      if (this.#waiting.sizeOf(sender) > limits.floodRequestsPerTurn) continue;
      sender.isFlooding = false;
      this.#flooding.delete(sender);
    }
    if (this.#flooding.size > 0) this.#review = this.#clock.after(limits.floodMs, () => this.#reviewAll());
  }

  #arm(): void {
    if (this.#isArmed || this.#closed) return;
    this.#isArmed = true;
    const waitMs = this.#dueMs - this.#clock.monotonic();
    if (waitMs <= 0) setImmediate(() => this.#serve());
    else this.#timer = this.#clock.after(waitMs, () => this.#serve());
  }

  /** One slice of what waits. A read whose time is over comes back by itself. */
  #serve(): void {
    if (this.#closed) return;
    const now = this.#clock.monotonic();
    const quietMs = this.#quietMs(now);
    const untilMs = now + (quietMs < limits.floodMs ? limits.floodSliceMs : limits.sliceMs);
    let read = this.#waiting.first();
    let endMs = now;
    while (read) {
      this.#waiting.delete(this.#waiting.passTurn() as Sender, read);
      read(untilMs);
      endMs = this.#clock.monotonic();
      read = endMs < untilMs ? this.#waiting.first() : undefined;
    }
    // Where others are busy, the flood pauses in proportion to what it took.
    this.#dueMs = quietMs < limits.floodQuietMs ? endMs + (endMs - now) * limits.floodPause : 0;
    this.#isArmed = false;
    if (this.#waiting.size > 0) this.#arm();
  }

  /** How long no request of others has come. */
  #quietMs(now: number): number {
    if (this.#others !== this.#othersSeen) {
      this.#othersSeen = this.#others;
      this.#othersAtMs = now;
    }
    return now - this.#othersAtMs;
  }
}
