import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { BodyWriter, Outlet } from '../../http/exchange.ts';
import { EventRun } from './event-run.ts';

/** Number of drained queues after which the array is compacted. */
const takenMax = 1_024;

/** A watch with data to write. */
export interface Pending {
  /** Writes the pending data. Never throws. */
  flush(): void;
}

/** The watches of one connection that have data to write. */
export interface OutboxQueue {
  readonly outlet: Outlet | undefined;
  waiting: Pending[];
}

/**
 * Batches watch output: one write per connection, however many watches it carries, in time slices, however many
 * connections there are. Events that arrive meanwhile join the pending output of their watch.
 */
export class WatchOutbox {
  readonly #clock: Clock;
  /** By the outlet of the connection. */
  readonly #queues = new WeakMap<Outlet, OutboxQueue>();
  /** Queues with waiting watches, from index `#first` on. */
  #filled: OutboxQueue[] = [];
  #first = 0;
  #running = false;
  /** Recently begun runs by their first frame. */
  readonly #begun = new Map<Uint8Array, EventRun>();
  #lastBegun: { readonly frame: Uint8Array; readonly run: EventRun } | undefined;
  #crowded = false;
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The queue of the writer's connection. */
  queueFor({ outlet }: BodyWriter): OutboxQueue {
    if (!outlet) return { outlet, waiting: [] };
    let queue = this.#queues.get(outlet);
    if (!queue) {
      queue = { outlet, waiting: [] };
      this.#queues.set(outlet, queue);
    }
    return queue;
  }

  /** The run that begins with a frame; watches that begin one now share it. */
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

  /** Schedules one `flush` of a watch for when the current delivery of events is complete. */
  add(queue: OutboxQueue, pending: Pending): void {
    if (queue.waiting.push(pending) > 1) return;
    this.#filled.push(queue);
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#run());
  }

  /** Signals that a watch has so much pending output that it should be written before more events are delivered. */
  crowd(): void {
    this.#crowded = true;
  }

  /** Resolves when all output was handed over; undefined unless output is pending and `crowd` was called. */
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

  /** Releases the shared runs; watches keep those that they have yet to write. */
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
