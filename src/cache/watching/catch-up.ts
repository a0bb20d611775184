import { Condition } from '../../base/condition.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import {
  type Change,
  type ChangeBatch,
  isStoreError,
  type Revision,
  type Store,
  writtenValue,
} from '../../store/store.ts';
import { followChanges } from '../follow-changes.ts';
import type { ResourceCollection } from '../resource-collection.ts';
import { Delivery } from './fan-out.ts';
import type { ObjectWatcher } from './object-watcher.ts';
import { WatcherIndex } from './watcher-index.ts';

/**
 * Brings watchers up to date that start before the cache's history: clients that reconnect after a restart or a long time. Each
 * run reads one change stream from the lowest of its members' positions, decodes each change once, and offers it to the members
 * it concerns until each of them reaches its collection's history. A watcher that joins with a position the run has already
 * passed waits for the next run.
 *
 * Nothing is buffered: the stream is not read while a member's sink is paused. A member that stays paused for
 * `limits.catchUpPauseMsMax` is dropped from the run and rejoins when it resumes.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #joining = new Set<ObjectWatcher>();
  readonly #members = new Set<ObjectWatcher>();
  readonly #paused = new Set<ObjectWatcher>();
  readonly #resumed = new Condition();
  #index = new WatcherIndex<ObjectWatcher>();
  /** Members have been offered every change up to this revision. */
  #position: Revision = 0;
  /** The revision being offered, or the last one offered. */
  #offering: Revision = 0;
  #run: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  join(watcher: ObjectWatcher): void {
    if (this.#run && this.#members.size > 0 && watcher.position >= this.#offering) {
      this.#addMember(watcher);
      return;
    }
    this.#joining.add(watcher);
    if (!this.#run) this.#running = this.#runAll();
  }

  leave(watcher: ObjectWatcher): void {
    this.#joining.delete(watcher);
    if (!this.#members.delete(watcher)) return;
    this.#index.remove(watcher);
    this.resumed(watcher);
    if (this.#members.size === 0) this.#run?.abort();
  }

  paused(watcher: ObjectWatcher): void {
    if (this.#members.has(watcher)) this.#paused.add(watcher);
  }

  resumed(watcher: ObjectWatcher): void {
    this.#paused.delete(watcher);
    if (this.#paused.size === 0) this.#resumed.notifyAll();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#run?.abort();
    return this.#running;
  }

  /** Runs until no watcher is behind. */
  async #runAll(): Promise<void> {
    while (this.#joining.size > 0 && !this.#closed) {
      this.#run = new AbortController();
      const from = this.#enlist();
      try {
        await this.#follow(from, this.#run.signal);
      } catch (error) {
        this.#giveUp(from, error);
      }
      this.#disband();
    }
    this.#run = undefined;
  }

  /** Makes the waiting watchers members. Returns the start revision of the run. */
  #enlist(): Revision {
    const waiting = [...this.#joining];
    this.#joining.clear();
    this.#position = waiting.reduce((least, watcher) => Math.min(least, watcher.position), Number.MAX_SAFE_INTEGER);
    this.#offering = this.#position;
    for (const watcher of waiting) this.#addMember(watcher);
    return this.#position;
  }

  #addMember(watcher: ObjectWatcher): void {
    this.#members.add(watcher);
    this.#index.add(watcher);
  }

  async #follow(from: Revision, signal: AbortSignal): Promise<void> {
    for await (const batch of followChanges({ ...this.#options, from, signal })) {
      await this.#offer(batch, signal);
      if (signal.aborted) return;
      this.#position = batch.revision;
      this.#offering = batch.revision;
      for (const member of this.#members) member.reached(batch.revision);
      if (this.#members.size === 0) return;
    }
  }

  async #offer({ changes }: ChangeBatch, signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice(this.#options.clock);
    for (const [index, change] of changes.entries()) {
      this.#offering = change.revision;
      const ready = this.#options.collectionOf(change.key)?.ready(this.#options.clock, writtenValue(change));
      if (ready) await ready;
      const delivery = this.#deliveryOf(change);
      const isLast = changes[index + 1]?.revision !== change.revision;
      const isAlone = isLast && changes[index - 1]?.revision !== change.revision;
      while (delivery && !delivery.continue(isAlone ? slice : undefined)) {
        await slice.next();
        if (signal.aborted) return;
      }
      if (!isLast) continue;
      this.#position = change.revision;
      if (slice.over) await slice.next();
      if (this.#paused.size > 0) await this.#awaitPaused(signal);
      if (signal.aborted) return;
    }
  }

  #deliveryOf(change: Change): Delivery | undefined {
    const collection = this.#options.collectionOf(change.key);
    const location = collection?.codec.locate(change.key);
    if (!collection || !location || !this.#index.concerns(collection.prefix, location)) return undefined;
    const watched = collection.watched(change);
    if (!watched) return undefined;
    return new Delivery(this.#index, { collection, location, change: watched, revision: change.revision });
  }

  /** Waits until no member is paused; after `catchUpPauseMsMax` drops those that still are. */
  async #awaitPaused(signal: AbortSignal): Promise<void> {
    const patience = new AbortController();
    const over = AbortSignal.any([signal, patience.signal]);
    void pause(this.#options.clock, limits.catchUpPauseMsMax, over).then(() => patience.abort());
    while (this.#paused.size > 0 && !over.aborted) await this.#resumed.wait(over);
    patience.abort();
    for (const watcher of [...this.#paused]) {
      watcher.reached(this.#position);
      watcher.leaveCatchUp();
    }
  }

  /** Ends the members that the store's history no longer covers, or all if it cannot be read. */
  #giveUp(from: Revision, error: unknown): void {
    const compacted = isStoreError(error, 'compacted');
    if (!compacted) this.#options.logger.error('the history of the store cannot be read', { from, error });
    const oldest = compacted ? (error.revision ?? from) : Number.POSITIVE_INFINITY;
    for (const member of [...this.#members]) {
      // Ends at least the members at the start of the run, so that the next run makes progress.
      if (member.position < oldest || member.position <= from) member.end('compacted');
    }
  }

  /** Moves the remaining members to the next run. */
  #disband(): void {
    for (const member of this.#members) this.#joining.add(member);
    this.#members.clear();
    this.#paused.clear();
    this.#index = new WatcherIndex();
  }
}

interface CatchUpOptions {
  readonly store: Pick<Store, 'changes'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The collection that contains the key. */
  collectionOf(key: string): ResourceCollection | undefined;
}
