import { compareKeys } from '../base/collections/key-order.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Count } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { withJitter } from '../base/time/backoff.ts';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { isStoreError, type Revision, type Store, type StoreRecord } from '../store/store.ts';
import type { CacheEntry, Collection, Snapshot, WatchCache } from './cache.ts';
import { readPages } from './load.ts';

/** A key on which cache and store disagree. */
interface Mismatch {
  readonly prefix: string;
  readonly key: string;
  /**
   * `missing`: only in the store. `surplus`: only in the cache. `revision`: in both at different revisions. `value`: in both at
   * the same revision, but the bytes differ or only one of the two finds the value corrupt.
   */
  readonly kind: 'missing' | 'surplus' | 'revision' | 'value';
}

interface ConsistencyReport {
  /** Revision of the comparison. */
  readonly revision: Revision;
  /** Number of keys in the store. */
  readonly compared: number;
  /** At most `mismatchesReportedMax` for each resource. */
  readonly mismatches: readonly Mismatch[];
}

interface ConsistencyCheckerOptions {
  readonly cache: WatchCache;
  readonly store: Pick<Store, 'list'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: { readonly mismatches: Count };
}

/** Maximum of keys reported for one resource: a single one already causes a reload. */
const mismatchesReportedMax = 10;

/** Attempts at a comparison whose revision is compacted while it runs. */
const attemptsMax = 3;

/**
 * Compares the cache with the store at one revision, key by key and byte by byte. Reads page by page and yields between slices.
 * A resource that differs is logged, counted and reloaded.
 */
export class ConsistencyChecker implements Closable {
  readonly #options: ConsistencyCheckerOptions;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: ConsistencyCheckerOptions) {
    this.#options = options;
  }

  /**
   * Runs a check every `limits.consistencyCheckMs`, one at a time. Each server of a process, or of one etcd, checks its own cache:
   * jitter keeps those that started together from reading the whole store together.
   */
  start(): void {
    if (this.#closed) return;
    const { clock, random, logger } = this.#options;
    this.#timer = clock.after(withJitter(limits.consistencyCheckMs, random), () => {
      this.check()
        // The next check tries again.
        .catch((error: unknown) => logger.warn('cache and store could not be compared', { error }))
        .finally(() => this.start());
    });
  }

  /** Stops the checks; a running one stops at its next record. */
  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }

  /** Runs one check and reloads what differs. Rejects if the store cannot be read. */
  async check(): Promise<ConsistencyReport> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#compareAll();
      } catch (error) {
        if (!isStoreError(error, 'compacted') || attempt === attemptsMax) throw error;
      }
    }
  }

  async #compareAll(): Promise<ConsistencyReport> {
    const { cache } = this.#options;
    // In one synchronous step, so that all snapshots are at one revision.
    const pairs = cache
      .collections()
      .map((collection) => ({ collection, form: collection.form, snapshot: collection.snapshot() }));
    const report = { revision: cache.revision, compared: 0, mismatches: [] as Mismatch[] };
    const slice = new TimeSlice(this.#options.clock);
    for (const { collection, form, snapshot } of pairs) {
      const comparison = new Comparison(collection, snapshot);
      for await (const records of readPages(this.#options.store, collection.prefix, { at: snapshot.revision })) {
        for (const record of records) {
          if (slice.over) await slice.next();
          const ready = collection.ready(this.#options.clock, record.value);
          if (ready) await ready;
          if (this.#closed) return report;
          comparison.compare(record);
        }
      }
      comparison.finish();
      // It was read anew meanwhile, in another form.
      if (form === undefined || collection.form !== form) continue;
      report.compared += comparison.compared;
      report.mismatches.push(...comparison.mismatches);
      if (comparison.mismatches.length > 0)
        await this.#mend(collection.prefix, snapshot.revision, comparison.mismatches);
    }
    return report;
  }

  async #mend(prefix: string, revision: Revision, mismatches: readonly Mismatch[]): Promise<void> {
    const { cache, logger, metrics } = this.#options;
    logger.error('the cache differs from the store and is read anew', {
      prefix,
      revision,
      mismatches: mismatches.map(({ key, kind }) => ({ key, kind })),
    });
    metrics?.mismatches.inc();
    await cache.reload(prefix);
  }
}

/** Merges the cache's entries and the store's records in key order. */
class Comparison {
  readonly mismatches: Mismatch[] = [];
  compared = 0;
  readonly #collection: Collection;
  readonly #snapshot: Snapshot;
  readonly #entries: Iterator<CacheEntry>;
  #entry: CacheEntry | undefined;

  constructor(collection: Collection, snapshot: Snapshot) {
    this.#collection = collection;
    this.#snapshot = snapshot;
    this.#entries = snapshot.entries(collection.prefix);
    this.#next();
  }

  /** Takes the records in key order. */
  compare(record: StoreRecord): void {
    this.compared++;
    while (this.#entry && compareKeys(this.#entry.key, record.key) < 0) this.#surplus(this.#entry);
    if (this.#entry?.key === record.key) {
      this.#compareEntry(this.#entry, record);
      this.#next();
    } else if (this.#snapshot.corrupt.get(record.key) !== record.revision) {
      this.#report(record.key, 'missing');
    } else if (this.#decode(record)) {
      this.#report(record.key, 'value');
    }
  }

  /** Called after the last record. */
  finish(): void {
    while (this.#entry) this.#surplus(this.#entry);
  }

  #compareEntry(entry: CacheEntry, record: StoreRecord): void {
    if (entry.revision !== record.revision) this.#report(record.key, 'revision');
    else if (!this.#decode(record)?.bytes.equals(entry.bytes)) this.#report(record.key, 'value');
  }

  #surplus(entry: CacheEntry): void {
    this.#report(entry.key, 'surplus');
    this.#next();
  }

  #next(): void {
    const { done, value } = this.#entries.next();
    this.#entry = done ? undefined : value;
  }

  #decode(record: StoreRecord): CacheEntry | undefined {
    try {
      return this.#collection.decode(record);
    } catch {
      // The caller only needs to know whether the record decodes.
      return undefined;
    }
  }

  #report(key: string, kind: Mismatch['kind']): void {
    if (this.mismatches.length < mismatchesReportedMax)
      this.mismatches.push({ prefix: this.#collection.prefix, key, kind });
  }
}
