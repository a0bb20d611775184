import type { Clock } from '../../base/clock.ts';
import { TimeSlice } from '../../base/time-slice.ts';
import type { BodyWriter, Outlet } from '../../http/exchange.ts';
import { EventRun } from './event-run.ts';

/** Queues that were emptied before their places are given back. */
const takenMax = 1_024;

/** A watch that has something to write. */
export interface Pending {
  /** Writes it. Throws nothing. */
  flush(): void;
}

/** The watches of one connection that have something to write. */
export interface OutboxQueue {
  readonly outlet: Outlet | undefined;
  waiting: Pending[];
}

/**
 * What watches have to write, until it was handed to their connections: one write for each connection, whatever the number of its
 * watches, and in slices of time, whatever the number of connections. What comes for a watch meanwhile joins what it has.
 */
export class WatchOutbox {
  readonly #clock: Clock;
  /** By the connection's outlet. */
  readonly #queues = new WeakMap<Outlet, OutboxQueue>();
  /** Queues in which watches wait, from `#first` on. */
  #filled: OutboxQueue[] = [];
  #first = 0;
  #running = false;
  /** Runs of one frame, by that frame: those that watches began lately. */
  readonly #begun = new Map<Uint8Array, EventRun>();
  #lastBegun: { readonly frame: Uint8Array; readonly run: EventRun } | undefined;
  #crowded = false;
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where watches wait that write so. */
  queueFor({ outlet }: BodyWriter): OutboxQueue {
    if (!outlet) return { outlet, waiting: [] };
    let queue = this.#queues.get(outlet);
    if (!queue) {
      queue = { outlet, waiting: [] };
      this.#queues.set(outlet, queue);
    }
    return queue;
  }

  /** The run that begins with a frame: the same for all who begin one now. */
  begin(frame: Uint8Array): EventRun {
    if (this.#lastBegun?.frame === frame) return this.#lastBegun.run;
    let run = this.#begun.get(frame);
    if (!run) {
      run = new EventRun(frame);
      this.#begun.set(frame, run);
    }
    this.#lastBegun = { frame, run };
    return run;
  }

  /** Has a watch's `flush` called, once, when whoever tells of events now has told them all. */
  add(queue: OutboxQueue, pending: Pending): void {
    if (queue.waiting.push(pending) > 1) return;
    this.#filled.push(queue);
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#run());
  }

  /** A watch has so much to write that it should come to it before it is told more. */
  crowd(): void {
    this.#crowded = true;
  }

  /** Resolves when everything was handed over, where something waits and is enough for now. */
  get busy(): Promise<void> | undefined {
    if (!this.#running || !this.#crowded) return undefined;
    this.#emptied ??= Promise.withResolvers();
    return this.#emptied.promise;
  }

  async #run(): Promise<void> {
    const slice = new TimeSlice(this.#clock);
    for (let queue = this.#take(); queue; queue = this.#take()) {
      flush(queue);
      if (!slice.over) continue;
      this.#forgetBegun();
      await slice.next();
    }
    this.#forgetBegun();
    this.#running = false;
    this.#crowded = false;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }

  #take(): OutboxQueue | undefined {
    const queue = this.#filled[this.#first];
    if (queue) this.#first++;
    if (!queue || this.#first >= takenMax) {
      this.#filled = this.#filled.slice(this.#first);
      this.#first = 0;
    }
    return queue;
  }

  /** Watches hold the runs that they have yet to write. */
  #forgetBegun(): void {
    this.#begun.clear();
    this.#lastBegun = undefined;
  }
}

function flush(queue: OutboxQueue): void {
  const { outlet, waiting } = queue;
  queue.waiting = [];
  outlet?.hold();
  try {
    for (const each of waiting) each.flush();
  } finally {
    outlet?.flush();
  }
}
