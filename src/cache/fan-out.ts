import type { Clock } from '../base/clock.ts';
import { Condition } from '../base/condition.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import { TimeSlice } from '../base/time-slice.ts';
import type { Revision } from '../store/store.ts';
import type { Throttle } from './cache.ts';
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

/** How many watchers are told between two looks at the clock. */
const toldAtOnce = 32;

/** A change that is being told to the watchers it concerns: one after the other, in slices of time where they are very many. */
export class Telling {
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
   * Goes on where it stopped. False: the slice is over, and some are still to be told. Only a change that is alone in its
   * revision may be cut: how far a watcher got is said in revisions.
   */
  goOn(slice: Pick<TimeSlice, 'over'> | undefined): boolean {
    let told = 0;
    for (; this.#set < this.#sets.length; this.#set++) {
      this.#watchers ??= (this.#sets[this.#set] as ReadonlySet<ObjectWatcher>).values();
      for (let next = this.#watchers.next(); !next.done; next = this.#watchers.next()) {
        this.#tell(next.value);
        told++;
        if (slice && told % toldAtOnce === 0 && slice.over) return false;
      }
      this.#watchers = undefined;
    }
    return true;
  }

  #tell(watcher: ObjectWatcher): void {
    // The state is there but cannot be shown: the client has to find that out by reading.
    if (this.#change === 'corrupt') watcher.end('compacted');
    else watcher.offer(this.#change);
  }
}

/**
 * Tells the live watchers of what was applied, in order, in slices of time: the state goes on, and reads are answered,
 * while a burst of changes is told to many watchers, or one change to very many. A change is told to all before the next is to
 * anybody. Who goes live meanwhile has it from the history, and overlooks it here.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #index: WatcherIndex<ObjectWatcher>;
  /** Where one of these says so, watchers are told nothing until it resolves. */
  readonly #throttles = new Set<Throttle>();
  readonly #drained = new Condition();
  /** A revision stands after the last change up to it. */
  #queue: (Published | Revision)[] = [];
  #first = 0;
  #telling: Telling | undefined;
  /** A revision of which the first changes were told. */
  #toldInPart: Revision = 0;
  #published: Revision = 0;
  #draining = false;
  #closed = false;

  constructor(clock: Clock, index: WatcherIndex<ObjectWatcher>) {
    this.#clock = clock;
    this.#index = index;
  }

  /** Everything up to this revision was told to the watchers. */
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

  throttle(throttle: Throttle): Closable {
    this.#throttles.add(throttle);
    return { close: () => this.#throttles.delete(throttle) };
  }

  close(): void {
    this.#closed = true;
    this.#queue = [];
    this.#first = 0;
    this.#telling = undefined;
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    const slice = new TimeSlice(this.#clock);
    while (!this.#closed) {
      const throttled = this.#throttled();
      if (throttled) await throttled;
      else if (this.#tellSome(slice)) break;
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

  /** Tells until the slice is over. True when nothing is left. */
  #tellSome(slice: TimeSlice): boolean {
    for (;;) {
      this.#telling ??= this.#next();
      if (!this.#telling) return true;
      const { revision } = this.#telling;
      const next = this.#queue[this.#first];
      const isLast = typeof next !== 'object' || next.revision !== revision;
      const isAlone = isLast && this.#toldInPart !== revision;
      if (!this.#telling.goOn(isAlone ? slice : undefined)) break;
      this.#telling = undefined;
      if (!isLast) this.#toldInPart = revision;
      else if (slice.over) break;
    }
    if (this.#first >= limits.cacheFanOutMax) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
      this.#drained.notifyAll();
    }
    return false;
  }

  /** The next change of the queue, which keeps it no longer. */
  #next(): Telling | undefined {
    for (;;) {
      const next = this.#queue[this.#first];
      if (next === undefined) return undefined;
      this.#queue[this.#first++] = 0;
      if (typeof next !== 'number') return new Telling(this.#index, next);
      this.#published = Math.max(this.#published, next);
    }
  }
}
