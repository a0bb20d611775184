import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { Condition } from '../base/condition.ts';
import { limits } from '../base/limits.ts';
import type { Revision } from '../store/store.ts';
import type { ObjectLocation } from './entry-codec.ts';
import type { ObjectWatcher } from './object-watcher.ts';
import type { ResourceCollection, WatchedChange } from './resource-collection.ts';
import type { WatcherIndex } from './watcher-index.ts';

/** A change with what finds its watchers. */
export interface Published {
  readonly collection: ResourceCollection;
  readonly location: ObjectLocation;
  readonly change: WatchedChange;
  readonly revision: Revision;
}

/** Gives a change to the watchers it concerns. */
export function publishTo(index: WatcherIndex<ObjectWatcher>, { collection, location, change }: Published): void {
  if (index.isEmpty) return;
  for (const watcher of index.concerned(collection.prefix, location, change)) {
    // The state is there but cannot be shown: the client has to find that out by reading.
    if (change === 'corrupt') watcher.end('compacted');
    else watcher.offer(change);
  }
}

/**
 * Tells the live watchers of what was applied, in order, in slices of time: the state goes on, and reads are answered,
 * while a burst of changes is told to many watchers.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #index: WatcherIndex<ObjectWatcher>;
  readonly #drained = new Condition();
  /** A revision stands after the last change up to it. */
  #queue: (Published | Revision)[] = [];
  #first = 0;
  #published: Revision = 0;
  #draining = false;
  #closed = false;

  constructor(clock: Clock, index: WatcherIndex<ObjectWatcher>) {
    this.#clock = clock;
    this.#index = index;
  }

  /** Everything up to this revision was given to the watchers. */
  get published(): Revision {
    return this.#published;
  }

  publish(changes: readonly Published[], revision: Revision): void {
    // Not one call with all of them: a batch may be longer than a call's arguments.
    for (const change of changes) this.#queue.push(change);
    this.#queue.push(revision);
    if (!this.#draining) void this.#drain();
  }

  /** Resolves when few enough changes wait for more to be taken in. */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#queue.length - this.#first > limits.cacheFanOutMax && !signal.aborted)
      await this.#drained.wait(signal);
  }

  close(): void {
    this.#closed = true;
    this.#queue = [];
    this.#first = 0;
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (!this.#closed) {
      this.#slice();
      if (this.#first >= this.#queue.length) break;
      await turn();
    }
    this.#queue = [];
    this.#first = 0;
    this.#draining = false;
    this.#drained.notifyAll();
  }

  /** Works until nothing is left or the time is up. */
  #slice(): void {
    const end = this.#clock.monotonic() + limits.cacheFanOutSliceMs;
    for (let next = this.#queue[this.#first]; next !== undefined; next = this.#queue[this.#first]) {
      this.#first++;
      if (typeof next === 'number') this.#published = Math.max(this.#published, next);
      else publishTo(this.#index, next);
      if (this.#clock.monotonic() > end && !this.#sameRevision(next, this.#queue[this.#first])) break;
    }
    if (this.#first < limits.cacheFanOutMax) return;
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
    this.#drained.notifyAll();
  }

  /** Others must not run, and look at how far a watcher got, in the middle of a revision. */
  #sameRevision(a: Published | Revision, b: Published | Revision | undefined): boolean {
    return typeof a === 'object' && typeof b === 'object' && a.revision === b.revision;
  }
}
