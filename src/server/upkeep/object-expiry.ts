import type { Clock } from '../../base/clock.ts';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { TimeSlice } from '../../base/time-slice.ts';
import type { CacheEntry, Collection, WatchCache } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { TimeToLive } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { parseTime } from '../../schema/time.ts';
import { isStoreError, type Revision, type Store } from '../../store/store.ts';
import { HistoryMarks } from './history-marks.ts';

interface ExpiryParts {
  readonly cache: Pick<WatchCache, 'revision'>;
  readonly store: Pick<Store, 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ExpireObjectsOptions extends ExpiryParts {
  readonly resources: Pick<ResourceRegistry, 'stored'>;
  /** What `Kind.timeToLive` stands for, in milliseconds; 0: for ever. */
  readonly timesToLiveMs: Readonly<Record<TimeToLive, number>>;
}

/** Removes objects of kinds with a `timeToLive` when their time is over, until it is closed. The cache is loaded. */
export function expireObjects({ resources, timesToLiveMs, ...parts }: ExpireObjectsOptions): Closable {
  const running = new ClosableStack();
  for (const [name, timeToLiveMs] of Object.entries(timesToLiveMs)) {
    if (timeToLiveMs <= 0) continue;
    const collections = (): Iterable<Collection> =>
      [...resources.stored()].filter(({ kind }) => kind.timeToLive === name).map(({ collection }) => collection);
    running.add(new ObjectExpiry({ ...parts, timeToLiveMs, collections }));
  }
  return running;
}

interface ObjectExpiryOptions extends ExpiryParts {
  /** More than 0. */
  readonly timeToLiveMs: number;
  /** Whose objects expire. Asked at every step. */
  readonly collections: () => Iterable<Collection>;
}

/**
 * Removes objects that were not written for their time to live. As with the leases that published servers give such
 * objects in etcd, the key just goes: no admission, no finalizers; watches see a deletion. An object lives for its whole
 * time, and up to two steps longer.
 *
 * When an object was written follows from its revision, which was there at a step or was not: nothing is kept of single
 * objects. What is older than the start is judged by its own times; it counts from the start where these are missing, or
 * where a client gave it false ones that are later. Of several servers on one store each does this; a removal names the
 * revision that was looked at, so that an object that was written meanwhile stays.
 */
class ObjectExpiry implements Closable {
  readonly #options: ObjectExpiryOptions;
  readonly #ages: HistoryMarks;
  /** What the cache began with. */
  readonly #startRevision: Revision;
  /** When objects from before the start were written, by their own times, on the monotonic clock: each is parsed once. */
  readonly #writtenMs = new WeakMap<CacheEntry, number>();
  /** What was written up to this revision has expired. */
  #expired: Revision = 0;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: ObjectExpiryOptions) {
    const { cache, clock } = options;
    this.#options = options;
    this.#ages = new HistoryMarks(clock);
    this.#startRevision = cache.revision;
    this.#ages.see(this.#startRevision);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(stepMs(this.#options.timeToLiveMs), () => void this.#step());
  }

  async #step(): Promise<void> {
    const { cache, timeToLiveMs, collections, logger } = this.#options;
    this.#ages.see(cache.revision);
    this.#expired = this.#ages.takeOlderThan(timeToLiveMs)?.revision ?? this.#expired;
    try {
      for (const collection of collections()) await this.#removeExpired(collection);
    } catch (error) {
      // Tried again at the next step: what stays too long costs room, nothing else.
      if (!this.#closed) logger.warn('expired objects could not be removed', { error });
    }
    this.#schedule();
  }

  /** A batch at a time, so that clients' writes have their turn. What cannot be read stays, for whoever is to mend it. */
  async #removeExpired(collection: Collection): Promise<void> {
    let batch: CacheEntry[] = [];
    for await (const entry of this.#expiredOf(collection.snapshot().entries(collection.prefix))) {
      batch.push(entry);
      if (batch.length < limits.expiryParallel) continue;
      await this.#remove(batch);
      batch = [];
    }
    await this.#remove(batch);
  }

  /** Lets others run after each slice of time. */
  async *#expiredOf(entries: Iterable<CacheEntry>): AsyncGenerator<CacheEntry> {
    const slice = new TimeSlice(this.#options.clock);
    for (const entry of entries) {
      if (slice.over) await slice.next();
      if (this.#closed) return;
      if (this.#isExpired(entry)) yield entry;
    }
  }

  #isExpired(entry: CacheEntry): boolean {
    if (entry.revision <= this.#expired) return true;
    if (entry.revision > this.#startRevision) return false;
    return this.#writtenBeforeStart(entry) + this.#options.timeToLiveMs <= this.#options.clock.monotonic();
  }

  #writtenBeforeStart(entry: CacheEntry): number {
    const known = this.#writtenMs.get(entry);
    if (known !== undefined) return known;
    const { clock } = this.#options;
    const ageMs = clock.now() - lastTimeOf(entry);
    const writtenMs = clock.monotonic() - ageMs;
    this.#writtenMs.set(entry, writtenMs);
    return writtenMs;
  }

  async #remove(batch: readonly CacheEntry[]): Promise<void> {
    if (this.#closed) return;
    await Promise.all(
      batch.map(async ({ key, revision }) => {
        try {
          await this.#options.store.delete(key, revision);
        } catch (error) {
          // Somebody removed it, or wrote it, which began its time anew.
          if (!isStoreError(error, 'notFound') && !isStoreError(error, 'conflict')) throw error;
        }
      }),
    );
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }
}

/** Twice this is what an object may live too long: at the default of an hour a minute, as with published servers. */
const stepMs = (timeToLiveMs: number): number =>
  Math.min(Math.max(timeToLiveMs / 120, limits.expiryStepMsMin), limits.expiryStepMsMax);

/**
 * When an object was written last, by its own metadata: wall-clock milliseconds, the end of the second that it names.
 * Infinity where that is unknown: an object whose owners were forgotten may have been changed at any time after its creation.
 */
function lastTimeOf({ bytes }: CacheEntry): number {
  try {
    const {
      creationTimestamp = '',
      deletionTimestamp = '',
      managedFields,
    } = (parseStored(bytes) as ApiObject).metadata;
    if (!managedFields) return Number.POSITIVE_INFINITY;
    const texts = [creationTimestamp, deletionTimestamp, ...managedFields.map(({ time = '' }) => time)];
    const times = texts.map(parseTime).filter((time) => time !== undefined);
    return times.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...times) + 1_000;
  } catch {
    // Stored by other hands than the server's: the cache looks at no more of an object than selectors need.
    return Number.POSITIVE_INFINITY;
  }
}
