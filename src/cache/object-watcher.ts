import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEvent, EntryMatcher, RequiredField, Watcher, WatchOptions, WatchSink } from './cache.ts';
import type { ObjectChange } from './change.ts';
import type { History } from './history.ts';
import { type IndexedWatcher, scopeText, type WatcherIndex, type WatchScope } from './watcher-index.ts';

/** What a watcher needs of the cache. */
export interface WatcherHost {
  /** Everything up to this revision is in the histories. */
  readonly revision: Revision;
  /** Everything up to this revision was told to the live watchers. */
  readonly published: Revision;
  readonly live: WatcherIndex<ObjectWatcher>;
  /** Takes watchers that stand before the history of their collection, and calls `reached` as it brings them forward. */
  readonly catchUp: {
    join(watcher: ObjectWatcher): void;
    leave(watcher: ObjectWatcher): void;
    paused(watcher: ObjectWatcher): void;
    resumed(watcher: ObjectWatcher): void;
  };
  readonly logger: Logger;
  /** Called once, when the watcher has ended for whatever reason. */
  ended(watcher: ObjectWatcher, reason: WatchEnd): void;
}

export type WatchEnd = 'slow' | 'compacted' | 'beyond' | 'closed' | 'left';

/** What a watcher needs of the collection it watches. */
export interface WatchedCollection {
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly loaded: boolean;
  readonly history: History;
  /** Open watches of it. */
  readonly watchers: Set<ObjectWatcher>;
}

/**
 * One watch. Where it stands is `#position`, and how it gets further is its phase:
 *
 *     replay:  from the collection's history, as fast as the sink takes it; holds nothing while the sink is paused
 *     catchUp: the position is before that history, and the store's is read, together with others (catch-up.ts)
 *     live:    in the index of the cache; what a paused sink does not take waits in a bounded queue
 *
 *     (start) -> replay <-> catchUp        replay -> live        any -> ended
 *
 * Going from replay to live happens in one step of the event loop, with nothing applied in between: no gap.
 */
export class ObjectWatcher implements Watcher, IndexedWatcher {
  readonly collection: WatchedCollection;
  readonly scope: string;
  readonly requires: RequiredField | undefined;
  readonly #host: WatcherHost;
  readonly #sink: WatchSink;
  readonly #only: WatchScope;
  readonly #matches: EntryMatcher | undefined;
  #phase: 'replay' | 'catchUp' | 'live' | 'ended' = 'replay';
  #position: Revision;
  /** Changes up to this revision were seen in an earlier phase. */
  #seen: Revision;
  #paused = false;
  /** Whoever opened it wants to hear nothing more. */
  #left = false;
  #queue: CacheEvent[] = [];
  #queuedBytes = 0;

  constructor(host: WatcherHost, collection: WatchedCollection, options: WatchOptions, sink: WatchSink) {
    this.collection = collection;
    this.scope = scopeText(collection.prefix, collection.namespaced, options);
    this.requires = options.requires;
    this.#host = host;
    this.#sink = sink;
    this.#only = options;
    this.#matches = options.matches;
    this.#position = options.after;
    this.#seen = options.after;
  }

  /** Where it stands: everything up to here was given to the sink or waits in the queue. */
  get position(): Revision {
    return this.#phase === 'live' ? Math.max(this.#position, this.#host.published) : this.#position;
  }

  get revision(): Revision {
    const waiting = this.#queue[0];
    return waiting ? waiting.revision - 1 : this.position;
  }

  /** Goes on from where it stands, once the collection is loaded. */
  begin(): void {
    if (this.#phase === 'replay' && this.collection.loaded && !this.#paused) this.#replay();
  }

  /** Takes a change that concerns its scope. Changes come in order of revision. */
  offer(change: ObjectChange): void {
    if (this.#phase === 'ended' || change.revision <= this.#seen) return;
    try {
      const event = change.eventFor(this.#matches);
      if (event) this.#deliver(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The catch-up has offered everything up to `revision`. */
  reached(revision: Revision): void {
    if (this.#phase !== 'catchUp') return;
    this.#position = Math.max(this.#position, revision);
    if (this.#position >= this.collection.history.floor) this.leaveCatchUp();
  }

  /** Goes on by itself from where it stands. */
  leaveCatchUp(): void {
    if (this.#phase !== 'catchUp') return;
    this.#host.catchUp.leave(this);
    this.#phase = 'replay';
    this.begin();
  }

  resume(): void {
    if (this.#phase === 'ended') return;
    this.#paused = false;
    try {
      this.#drain();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#paused) return;
    if (this.#phase === 'replay') this.begin();
    else if (this.#phase === 'catchUp') this.#host.catchUp.resumed(this);
  }

  close(): void {
    this.#left = true;
    this.detach('left');
  }

  /** Ends the watch and tells the sink why. */
  end(reason: Exclude<WatchEnd, 'left'>): void {
    if (this.detach(reason)) this.tellEnd(reason);
  }

  /** The second half of `end`. */
  tellEnd(reason: Exclude<WatchEnd, 'left'>): void {
    if (this.#left) return;
    try {
      this.#sink.closed(reason);
    } catch (error) {
      this.#logFault(error);
    }
  }

  #replay(): void {
    const { history } = this.collection;
    if (this.#position < history.floor) {
      this.#phase = 'catchUp';
      this.#seen = this.#position;
      this.#host.catchUp.join(this);
      return;
    }
    for (const change of history.after(this.#position)) {
      // A revision is not split: what is left of it goes to the queue.
      if (this.#paused && change.revision > this.#position) return;
      if (this.#inScope(change)) this.offer(change);
      if (this.#hasEnded()) return;
      this.#position = change.revision;
    }
    this.#position = Math.max(this.#position, this.#host.revision);
    this.#seen = this.#position;
    this.#phase = 'live';
    this.#host.live.add(this);
  }

  #inScope({ namespace, name }: ObjectChange): boolean {
    return (
      (!this.#only.namespace || this.#only.namespace === namespace) && (!this.#only.name || this.#only.name === name)
    );
  }

  #deliver(event: CacheEvent): void {
    this.#position = Math.max(this.#position, event.revision);
    if (this.#paused || this.#queue.length > 0) this.#enqueue(event);
    else if (!this.#sink.event(event)) this.#pause();
  }

  #pause(): void {
    this.#paused = true;
    if (this.#phase === 'catchUp') this.#host.catchUp.paused(this);
  }

  #enqueue(event: CacheEvent): void {
    this.#queue.push(event);
    this.#queuedBytes += event.entry.end - event.entry.start;
    const { watcherBufferEventsMax, watcherQueueBytesMax } = limits;
    if (this.#queue.length > watcherBufferEventsMax || this.#queuedBytes > watcherQueueBytesMax) this.end('slow');
  }

  #drain(): void {
    while (!this.#paused) {
      const event = this.#queue.shift();
      if (!event) return;
      this.#queuedBytes -= event.entry.end - event.entry.start;
      if (!this.#sink.event(event)) this.#pause();
    }
  }

  /** One watcher's fault must not stop the others. */
  #fail(error: unknown): void {
    this.#logFault(error);
    this.end('closed');
  }

  #logFault(error: unknown): void {
    this.#host.logger.error('a watch failed and is closed', { prefix: this.collection.prefix, error });
  }

  #hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  /** The first half of `end`: nothing more is offered. False when it had ended already. */
  detach(reason: WatchEnd): boolean {
    const phase = this.#phase;
    if (phase === 'ended') return false;
    // What waits is dropped, and was not given to the sink.
    this.#position = this.revision;
    this.#phase = 'ended';
    this.#queue = [];
    if (phase === 'live') this.#host.live.remove(this);
    if (phase === 'catchUp') this.#host.catchUp.leave(this);
    this.#host.ended(this, reason);
    return true;
  }
}
