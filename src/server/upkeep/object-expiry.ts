import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, Collection, RevisionLine } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { TimeToLive } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { parseTime } from '../../meta/time.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { isStoreError, type KeyStore, type Revision } from '../../store/store.ts';
import { HistoryMarks } from './history-marks.ts';

interface ExpiryParts {
  readonly store: Pick<KeyStore, 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ExpireObjectsOptions extends ExpiryParts {
  readonly resources: Pick<ResourceRegistry, 'stored'>;
  /** Durations for `Kind.timeToLive`, in milliseconds; 0: for ever. */
  readonly timesToLiveMs: Readonly<Record<TimeToLive, number>>;
}

/** Deletes expired objects of kinds with a `timeToLive`, until closed. The cache must be loaded. */
export function expireObjects({ resources, timesToLiveMs, ...parts }: ExpireObjectsOptions): Closable {
  const running = new ClosableStack();
  for (const [name, timeToLiveMs] of Object.entries(timesToLiveMs)) {
    if (timeToLiveMs <= 0) continue;
    const collections = (): readonly Collection[] =>
      [...resources.stored()].filter(({ kind }) => kind.timeToLive === name).map(({ collection }) => collection);
    // Which stores have objects of built-in kinds is settled at the start.
    for (const line of new Set(collections().map((collection) => collection.line))) {
      const ofLine = () => collections().filter((collection) => collection.line === line);
      running.add(new ObjectExpiry({ ...parts, timeToLiveMs, line, collections: ofLine }));
    }
  }
  return running;
}

interface ObjectExpiryOptions extends ExpiryParts {
  /** Greater than 0. */
  readonly timeToLiveMs: number;
  /** Its revisions tell when objects were written. */
  readonly line: Pick<RevisionLine, 'revision'>;
  /** The collections of the line with this time to live; called at every step. */
  readonly collections: () => Iterable<Collection>;
}

/**
 * Deletes objects that were not written within their time to live. As with the etcd leases that kube-apiserver uses for
 * events, the key simply goes: no admission, no finalizers; watches see a deletion. An object lives for its full time,
 * and up to two steps longer.
 *
 * The time of a write follows from the revision, by the steps at which it was first seen, so nothing is stored per
 * object. Objects older than the start are judged by their own timestamps; they count from the start if these are
 * missing, or were set to a later time by a client. Every server on a shared store does this; a deletion names the
 * observed revision, so that an object written meanwhile stays.
 */
class ObjectExpiry implements Closable {
  readonly #options: ObjectExpiryOptions;
  readonly #ages: HistoryMarks;
  /** Revision of the line at the start. */
  readonly #startRevision: Revision;
  /**
   * Last writes of objects from before the start, by their own timestamps, in monotonic milliseconds: each is parsed
   * once.
   */
  readonly #writtenMs = new WeakMap<CacheEntry, number>();
  /** Everything written up to this revision has expired. */
  #expired: Revision = 0;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: ObjectExpiryOptions) {
    const { line, clock } = options;
    this.#options = options;
    this.#ages = new HistoryMarks(clock);
    this.#startRevision = line.revision;
    this.#ages.record(this.#startRevision);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(stepMs(this.#options.timeToLiveMs), () => void this.#step());
  }

  async #step(): Promise<void> {
    const { line, timeToLiveMs, collections, logger } = this.#options;
    this.#ages.record(line.revision);
    this.#expired = this.#ages.takeOlderThan(timeToLiveMs)?.revision ?? this.#expired;
    try {
      for (const collection of collections()) await this.#removeExpired(collection);
    } catch (error) {
      // Retried at the next step: objects kept too long only cost space.
      if (!this.#closed) logger.warn('expired objects could not be removed', { error });
    }
    this.#schedule();
  }

  /** Deletes in batches, so that client writes are interleaved. Unreadable objects stay, to be repaired. */
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

  /** Yields after each time slice. */
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
          // The object was deleted, or written, which restarted its time.
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

/** An object may live too long by two steps: one minute at the default of an hour, as in kube-apiserver. */
const stepMs = (timeToLiveMs: number): number =>
  Math.min(Math.max(timeToLiveMs / 120, limits.expiryStepMsMin), limits.expiryStepMsMax);

/**
 * Time of an object's last write by its own metadata: wall-clock milliseconds, rounded up to the end of the second.
 * Infinity if unknown: an object without managed fields may have changed at any time after its creation.
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
    // Corrupt, written by another program: the cache validates only what selectors need.
    return Number.POSITIVE_INFINITY;
  }
}
