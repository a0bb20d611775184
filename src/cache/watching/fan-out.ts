import { Condition } from '../../base/condition.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { Revision } from '../../store/store.ts';
import type { Throttle } from '../cache.ts';
import type { ObjectLocation } from '../entries/entry-codec.ts';
import type { ResourceCollection, WatchedChange } from '../resource-collection.ts';
import type { ObjectWatcher } from './object-watcher.ts';
import type { WatcherIndex } from './watcher-index.ts';

/** A change and the information that finds its watchers. */
export interface Published {
  readonly collection: ResourceCollection;
  readonly location: ObjectLocation;
  readonly change: WatchedChange;
  readonly revision: Revision;
}

/** Watchers notified between two checks of the clock. */
const deliveriesPerClockCheck = 32;

/** Delivery of one change to the watchers it concerns, in time slices if there are very many. */
export class Delivery {
  readonly revision: Revision;
  readonly #change: WatchedChange;
  readonly #sets: readonly ReadonlySet<ObjectWatcher>[];
  #set = 0;
  #watchers: Iterator<ObjectWatcher> | undefined;

  constructor(index: WatcherIndex<ObjectWatcher>, { collection, location, change, revision }: Published) {
    this.revision = revision;
    this.#change = change;
    this.#sets = index.concerned(collection.prefix, location, change);
  }

  /**
   * Continues where it stopped. False if the slice ended before all watchers were notified. Only a change that is alone in its
   * revision may be split, because a watcher's progress is expressed in revisions.
   */
  continue(slice: Pick<TimeSlice, 'over'> | undefined): boolean {
    let delivered = 0;
    for (; this.#set < this.#sets.length; this.#set++) {
      this.#watchers ??= (this.#sets[this.#set] as ReadonlySet<ObjectWatcher>).values();
      for (let next = this.#watchers.next(); !next.done; next = this.#watchers.next()) {
        this.#deliver(next.value);
        delivered++;
        if (slice && delivered % deliveriesPerClockCheck === 0 && slice.over) return false;
      }
      this.#watchers = undefined;
    }
    return true;
  }

  #deliver(watcher: ObjectWatcher): void {
    // The new state cannot be delivered: the client finds out by reading.
    if (this.#change === 'corrupt') watcher.end('compacted');
    else watcher.offer(this.#change);
  }
}

/**
 * Delivers applied changes to the live watchers, in order and in time slices: the state advances and reads are served while a
 * burst of changes, or one change with very many watchers, is being delivered. A change is delivered to all watchers before the
 * next one is delivered to any. A watcher that goes live meanwhile has received the change from history and ignores it here.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #index: WatcherIndex<ObjectWatcher>;
  /** Delivery pauses while one of these returns a promise. */
  readonly #throttles = new Set<Throttle>();
  readonly #drained = new Condition();
  /** A revision number follows the last change up to it. */
  #queue: (Published | Revision)[] = [];
  #first = 0;
  #delivery: Delivery | undefined;
  /** A revision whose first changes have been delivered. */
  #partlyDelivered: Revision = 0;
  #published: Revision = 0;
  #draining = false;
  #closed = false;

  constructor(clock: Clock, index: WatcherIndex<ObjectWatcher>) {
    this.#clock = clock;
    this.#index = index;
  }

  /** Every change up to this revision has been delivered to the watchers. */
  get published(): Revision {
    return this.#published;
  }

  publish(changes: readonly Published[], revision: Revision): void {
    // Not `push(...changes)`: a batch may exceed the maximum number of arguments.
    for (const change of changes) this.#queue.push(change);
    this.#queue.push(revision);
    if (!this.#draining) void this.#drain();
  }

  /** Resolves when the queue is short enough for more changes to be applied. */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#queue.length - this.#first > limits.cacheFanOutMax && !signal.aborted)
      await this.#drained.wait(signal);
  }

  throttle(throttle: Throttle): Closable {
    this.#throttles.add(throttle);
    return { close: () => this.#throttles.delete(throttle) };
  }

  close(): void {
    this.#closed = true;
    this.#queue = [];
    this.#first = 0;
    this.#delivery = undefined;
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    const slice = new TimeSlice(this.#clock);
    while (!this.#closed) {
      const throttled = this.#throttled();
      if (throttled) await throttled;
      else if (this.#deliverSome(slice)) break;
      else await slice.next();
    }
    this.#queue = [];
    this.#first = 0;
    this.#draining = false;
    this.#drained.notifyAll();
  }

  #throttled(): Promise<void> | undefined {
    for (const throttle of this.#throttles) {
      const until = throttle();
      if (until) return until;
    }
    return undefined;
  }

  /** Delivers until the slice ends. True if nothing is left. */
  #deliverSome(slice: TimeSlice): boolean {
    for (;;) {
      this.#delivery ??= this.#next();
      if (!this.#delivery) return true;
      const { revision } = this.#delivery;
      const next = this.#queue[this.#first];
      const isLast = typeof next !== 'object' || next.revision !== revision;
      const isAlone = isLast && this.#partlyDelivered !== revision;
      if (!this.#delivery.continue(isAlone ? slice : undefined)) break;
      this.#delivery = undefined;
      if (!isLast) this.#partlyDelivered = revision;
      else if (slice.over) break;
    }
    if (this.#first >= limits.cacheFanOutMax) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
      this.#drained.notifyAll();
    }
    return false;
  }

  /** Removes the next change from the queue. */
  #next(): Delivery | undefined {
    for (;;) {
      const next = this.#queue[this.#first];
      if (next === undefined) return undefined;
      this.#queue[this.#first++] = 0;
      if (typeof next !== 'number') return new Delivery(this.#index, next);
      this.#published = Math.max(this.#published, next);
    }
  }
}
