import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Revision } from '../../store/store.ts';
import type { CacheEvent, EntryMatcher, RequiredField, Watcher, WatchOptions, WatchSink } from '../cache.ts';
import type { ObjectChange } from '../change.ts';
import type { CollectionMetrics } from '../collection-metrics.ts';
import type { History } from '../history.ts';
import { type IndexedWatcher, scopeText, type WatcherIndex } from './watcher-index.ts';

/** The cache, as a watcher sees it. */
export interface WatcherHost {
  /** The histories contain every change up to this revision. */
  readonly revision: Revision;
  /** Live watchers have been offered every change up to this revision. */
  readonly published: Revision;
  readonly live: WatcherIndex<ObjectWatcher>;
  /** The live ones among those with the option `immediate`: they have been offered every change up to `revision`. */
  readonly immediate: WatcherIndex<ObjectWatcher>;
  /** Takes watchers whose position is before their collection's history, and calls `reached` as they progress. */
  readonly catchUp: {
    join(watcher: ObjectWatcher): void;
    leave(watcher: ObjectWatcher): void;
    paused(watcher: ObjectWatcher): void;
    resumed(watcher: ObjectWatcher): void;
  };
  readonly logger: Logger;
  /** Called once when the watcher ends, for any reason. */
  ended(watcher: ObjectWatcher, reason: WatchEnd): void;
}

export type WatchEnd = 'slow' | 'compacted' | 'beyond' | 'closed' | 'left';

/** The collection, as a watcher sees it. */
export interface WatchedCollection {
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly loaded: boolean;
  readonly metrics: Pick<CollectionMetrics, 'initial' | 'unresponsive'>;
  readonly history: History;
  /** Open watches of the collection. */
  readonly watchers: Set<ObjectWatcher>;
  /** See `Collection.keepSlowWatches`. */
  readonly keepsSlowWatches: boolean;
}

/**
 * One watch. `#position` is how far it got; the phase says where its next changes come from:
 *
 *     replay:  the collection's history, as fast as the sink accepts it; nothing is buffered while the sink is paused
 *     catchUp: the store's history, read for several watches together (catch-up.ts), since the position is before the cache's
 *     live:    the fan-out; what a paused sink does not accept waits in a bounded queue
 *
 *     (start) -> replay <-> catchUp        replay -> live        any -> ended
 *
 * The step from replay to live is synchronous, with no change applied in between, so no event is missed.
 */
export class ObjectWatcher implements Watcher, IndexedWatcher {
  readonly collection: WatchedCollection;
  readonly scope: string;
  readonly requires: RequiredField | undefined;
  readonly #host: WatcherHost;
  readonly #sink: WatchSink;
  readonly #only: WatchOptions;
  readonly #matches: EntryMatcher | undefined;
  #phase: 'replay' | 'catchUp' | 'live' | 'ended' = 'replay';
  #position: Revision;
  /** Changes up to this revision were handled in an earlier phase. */
  #seen: Revision;
  #paused = false;
  /** The owner has closed the watch and must not be called again. */
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

  get isImmediate(): boolean {
    return this.#only.immediate === true;
  }

  get #live(): WatcherIndex<ObjectWatcher> {
    return this.isImmediate ? this.#host.immediate : this.#host.live;
  }

  /** Everything up to this revision was passed to the sink or waits in the queue. */
  get position(): Revision {
    if (this.#phase !== 'live') return this.#position;
    return Math.max(this.#position, this.isImmediate ? this.#host.revision : this.#host.published);
  }

  get revision(): Revision {
    const waiting = this.#queue[0];
    return waiting ? waiting.revision - 1 : this.position;
  }

  /** Continues from its position, once the collection is loaded. */
  begin(): void {
    if (this.#phase === 'replay' && this.collection.loaded && !this.#paused) this.#replay();
  }

  /** Takes a change in its scope. Changes come in order of revision. */
  offer(change: ObjectChange): void {
    if (this.#phase === 'ended' || change.revision <= this.#seen) return;
    try {
      const event = change.eventFor(this.#matches);
      if (event) this.#deliver(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The catch-up has offered every change up to `revision`. */
  reached(revision: Revision): void {
    if (this.#phase !== 'catchUp') return;
    this.#position = Math.max(this.#position, revision);
    if (this.#position >= this.collection.history.floor) this.leaveCatchUp();
  }

  /** Leaves the catch-up and continues on its own from its position. */
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

  /** Ends the watch and notifies the sink. */
  end(reason: Exclude<WatchEnd, 'left'>): void {
    if (this.detach(reason)) this.notifyEnd(reason);
  }

  /** The second half of `end`: notifies the sink. */
  notifyEnd(reason: Exclude<WatchEnd, 'left'>): void {
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
      // A revision is not split: the rest of it goes to the queue.
      if (this.#paused && change.revision > this.#position) return;
      if (this.#inScope(change)) {
        this.collection.metrics.initial.add();
        this.offer(change);
      }
      if (this.#hasEnded()) return;
      this.#position = change.revision;
    }
    this.#position = Math.max(this.#position, this.#host.revision);
    this.#seen = this.#position;
    this.#phase = 'live';
    this.#live.add(this);
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
    if (this.#queue.length <= watcherBufferEventsMax && this.#queuedBytes <= watcherQueueBytesMax) return;
    if (this.#sink.preparing || this.collection.keepsSlowWatches) this.#rewind();
    else this.end('slow');
  }

  /** Keeps the first revision of the queue, and leaves the others to be read from history again. */
  #rewind(): void {
    if (this.#phase === 'replay') return;
    const revision = this.#queue[0]?.revision ?? this.#position;
    this.#queue = this.#queue.filter((event) => event.revision === revision);
    this.#queuedBytes = this.#queue.reduce((sum, { entry }) => sum + entry.end - entry.start, 0);
    if (this.#phase === 'live') this.#live.remove(this);
    else this.#host.catchUp.leave(this);
    this.#phase = 'replay';
    this.#position = revision;
    this.#seen = revision;
  }

  #drain(): void {
    while (!this.#paused) {
      const event = this.#queue.shift();
      if (!event) return;
      this.#queuedBytes -= event.entry.end - event.entry.start;
      if (!this.#sink.event(event)) this.#pause();
    }
  }

  /** An error of one watcher must not affect the others. */
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

  /** The first half of `end`: stops delivery. False if the watch had already ended. */
  detach(reason: WatchEnd): boolean {
    const phase = this.#phase;
    if (phase === 'ended') return false;
    // Queued events are dropped, so the position goes back to what the sink has received.
    this.#position = this.revision;
    this.#phase = 'ended';
    this.#queue = [];
    if (phase === 'live') this.#live.remove(this);
    if (phase === 'catchUp') this.#host.catchUp.leave(this);
    this.#host.ended(this, reason);
    return true;
  }
}
