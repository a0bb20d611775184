import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { Condition } from '../../../base/condition.ts';
import { limits } from '../../../base/limits.ts';
import { type Logger, silentLogger } from '../../../base/logger.ts';
import { type Clock, pause, systemClock } from '../../../base/time/clock.ts';
import { checkBatch } from '../../batch.ts';
import {
  type BatchWrite,
  type Change,
  type ChangeBatch,
  type Committed,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreRecord,
  type UpdateOptions,
} from '../../store.ts';
import type { FileNews, PackedStretch, WantedRecords } from './file-clients.ts';
import type { KeyRange } from './key-range.ts';
import type { LogFileOptions } from './log-file.ts';
import { unpackChanges, unpackRecord, type WriteRequest } from './messages.ts';
import { unpackRecords } from './packed-records.ts';
import { RecentChanges } from './recent-changes.ts';
import { SharedHead } from './shared-head.ts';
import { startSqliteWorker } from './start-sqlite-worker.ts';
import { WorkerCalls } from './worker-calls.ts';
import { WriteGroups } from './write-groups.ts';

export interface SqliteStoreOptions extends Omit<LogFileOptions, 'nowMs'> {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Starts the thread that owns the file; overridden by tests that kill it. */
  readonly startWorker?: () => Worker;
}

/**
 * Opens the data file, or creates it if there is none, and is its only owner until `close`.
 *
 * Fails with `unavailable` if another process owns the file (the message names it), if a newer version or another
 * program wrote it, or if it cannot be accessed; with `corrupt` if it is damaged; with `full` if the disk is full. None
 * of these changes the file.
 */
export const openSqliteStore = async (options: SqliteStoreOptions): Promise<Store> => openFile(options);

/** An open data file that other threads may use. It keeps itself: room for deletions, and what a full disk asks for. */
export interface SharedDataFile {
  /** A way to the file for one thread, to be sent to it: see `joinSqliteStore`. */
  connect(): MessagePort;
  /** Ends every client. */
  close(): Promise<void>;
}

/** As `openSqliteStore`, for several threads. Only they read and write. */
export const shareSqliteStore = async (options: SqliteStoreOptions): Promise<SharedDataFile> => {
  const store = await openFile(options);
  return { connect: () => store.connect(), close: () => store.close() };
};

/** The store of a thread, by a port of `SharedDataFile.connect`. Closing it leaves the file open for the others. */
export const joinSqliteStore = async ({
  port,
  logger = silentLogger,
  clock = systemClock,
}: Pick<SqliteStoreOptions, 'logger' | 'clock'> & { readonly port: MessagePort }): Promise<Store> => {
  let store: SqliteStore | undefined;
  const early: FileNews[] = [];
  const calls = new WorkerCalls(port, {
    died: (error) => store?.fail(error),
    news: (news) => (store ? store.hear(news) : void early.push(news)),
  });
  try {
    store = new SqliteStore(calls, await calls.call('join'), { logger, clock });
    store.share();
    for (const news of early) store.hear(news);
    return store;
  } catch (error) {
    await calls.end();
    throw error;
  }
};

const openFile = async (options: SqliteStoreOptions): Promise<SqliteStore> => {
  const { logger = silentLogger, clock = systemClock, startWorker = startSqliteWorker, ...fileOptions } = options;
  let store: SqliteStore | undefined;
  const calls = new WorkerCalls(startWorker(), {
    died: (error) => store?.fail(error),
    news: (news) => store?.hear(news),
  });
  try {
    const { isFull, ...opened } = await calls.call('open', { ...fileOptions, nowMs: clock.now() });
    const { copiedTo, eraseProblem } = opened;
    if (eraseProblem !== undefined) {
      logger.warn('what was deleted earlier may still be in the data file; the next start tries again', {
        file: options.file,
        why: eraseProblem,
      });
    }
    if (copiedTo !== undefined) {
      logger.warn('the data file is a copy: revisions go on from here, and clients of the original list again', {
        file: options.file,
        revision: copiedTo,
      });
    }
    store = new SqliteStore(calls, opened, { logger, clock });
    store.keepFile(isFull);
    return store;
  } catch (error) {
    await calls.end();
    throw error;
  }
};

const nothing = new Uint8Array(0);

const toRequest = (write: BatchWrite): WriteRequest => ({
  verb: write.verb,
  key: write.key,
  value: write.verb === 'delete' ? nothing : write.value,
  expected: write.verb === 'create' ? 0 : write.expected,
});

/** The state that a client begins with. */
interface FoundState {
  readonly head: Revision;
  readonly compacted: Revision;
  /** The memory of a SharedHead. */
  readonly durable: SharedArrayBuffer;
}

interface StoreParts {
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Keys that the worker counts per call, from the index alone: milliseconds of work. */
const countRowsMax = 10_000;

/** Largest number of changes in one batch of a change stream. */
const batchChangesMax = 1_000;

/**
 * A client of the data file. It knows the last durable revision, decides which revisions may be read, splits long work
 * into short calls to the worker, and notifies change streams. The worker answers in order, which several comments below
 * rely on. The client that opened the file also keeps it.
 */
class SqliteStore implements Store {
  readonly #calls: WorkerCalls;
  readonly #writes: WriteGroups;
  readonly #recent: RecentChanges;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #moved = new Condition();
  readonly #closing = new AbortController();
  /** Revisions that lists in progress read at. Rows that they need are not deleted. */
  readonly #listing = new Set<{ readonly at: Revision }>();
  readonly #listed = new Condition();
  #compacting: Promise<void> = Promise.resolve();
  /** The last attempt to fill the reserve, or to find room for it. */
  #reserving: Promise<void> = Promise.resolve();
  #isFull = false;
  #keepsFile = false;
  /** The last group of writes failed. */
  #isFailing = false;
  /** The last change that change streams may deliver. */
  #head: Revision;
  readonly #durable: SharedHead;
  #isShared = false;
  /** Changes that have overtaken those before them. */
  #early: (readonly Change[])[] = [];
  #lastReading = 0;
  #compacted: Revision;
  #unavailable: StoreError | undefined;
  #closed: Promise<void> | undefined;

  constructor(calls: WorkerCalls, { head, compacted, durable }: FoundState, { logger, clock }: StoreParts) {
    this.#calls = calls;
    this.#head = head;
    this.#compacted = compacted;
    this.#durable = new SharedHead(durable);
    this.#logger = logger;
    this.#clock = clock;
    this.#recent = new RecentChanges(head, {
      changesMax: limits.storeRecentChangesMax,
      bytesMax: limits.storeRecentBytesMax,
    });
    this.#writes = new WriteGroups({
      commit: (group) => calls.call('commit', group),
      published: (changes) => this.#written(changes),
      becameFull: () => this.#becameFull(),
      failed: (error) => this.#writesFail(error),
    });
  }

  /** Keeps room for deletions from now on. */
  keepFile(isFull: boolean): void {
    this.#keepsFile = true;
    if (isFull) this.#becameFull();
    else this.#reserving = this.#keepReserve();
  }

  /** From now on there are other clients. */
  share(): void {
    this.#isShared = true;
  }

  connect(): MessagePort {
    this.#assertOpen();
    this.share();
    const { port1, port2 } = new MessageChannel();
    // Its failure is that of the file, which the thread at the other end learns.
    this.#calls.call('admit', port1).catch(() => port1.close());
    return port2;
  }

  /** News of other clients. */
  hear(news: FileNews): void {
    switch (news.type) {
      case 'changes':
        this.#publishOthers(news.changes, news.own);
        break;
      case 'compacted':
        this.#compacted = Math.max(this.#compacted, news.upTo);
        break;
      case 'full':
        this.#becameFull();
        break;
    }
  }

  /** The last durable revision, whoever wrote it. */
  get #last(): Revision {
    return this.#isShared ? this.#durable.since(this.#head) : this.#head;
  }

  async head(): Promise<Revision> {
    this.#assertOpen();
    return this.#last;
  }

  get knownHead(): Revision | undefined {
    return this.#unavailable ? undefined : this.#last;
  }

  async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    this.#assertOpen();
    if (at !== undefined) this.#assertReadable(at);
    return unpackRecord(await this.#calls.call('get', key, at));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<Page> {
    this.#assertOpen();
    const at = options.at ?? this.#last;
    this.#assertReadable(at);
    const reading = { at };
    this.#listing.add(reading);
    const held = this.#hold(at);
    try {
      const { after, limit = Number.MAX_SAFE_INTEGER, room } = options;
      const records = await this.#scan({ prefix, after, at }, { limit, room });
      await held?.kept;
      const rest = { prefix, after: records.at(-1)?.key ?? after, at };
      const remaining = records.length < limit ? 0 : await this.#count(rest, options.remaining);
      return { records, revision: at, remaining };
    } finally {
      held?.release();
      this.#listing.delete(reading);
      this.#listed.notifyAll();
    }
  }

  /** Keeps rows from compactions of other clients. `kept` rejects if it comes too late. */
  #hold(at: Revision): { readonly kept: Promise<void>; readonly release: () => void } | undefined {
    if (!this.#isShared) return undefined;
    const reading = ++this.#lastReading;
    const kept = this.#calls.call('hold', reading, at);
    kept.catch(() => {});
    // Whether the client still has a way to the file makes no difference to what it holds.
    return { kept, release: () => void this.#calls.call('release', reading).catch(() => {}) };
  }

  create(key: string, value: Uint8Array): Promise<Committed> {
    return this.#write({ verb: 'create', key, value, expected: 0 });
  }

  update(
    key: string,
    value: Uint8Array,
    expected: Revision,
    { deletion = false }: UpdateOptions = {},
  ): Promise<Committed> {
    return this.#write({ verb: deletion ? 'mark' : 'update', key, value, expected });
  }

  delete(key: string, expected: Revision): Promise<Committed> {
    return this.#write({ verb: 'delete', key, value: nothing, expected });
  }

  #write(request: WriteRequest): Promise<Committed> {
    return this.#unavailable ? Promise.reject(this.#unavailable) : this.#writes.write(request);
  }

  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    this.#assertOpen();
    checkBatch(writes);
    if (writes.length === 0) return [];
    return this.#writes.batch(writes.map(toRequest));
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    let position = from;
    while (!signal.aborted) {
      this.#assertOpen();
      this.#assertKept(position);
      const changes = this.#recent.after(position, batchChangesMax) ?? (await this.#history(position));
      if (signal.aborted) return;
      const last = changes.at(-1);
      if (last) {
        position = last.revision;
        yield { changes, revision: position };
      } else {
        await this.#moved.wait(signal);
      }
    }
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertOpen();
    this.#assertReached(upTo);
    // Compactions run one at a time; a failure is reported only to its own caller.
    const compaction = this.#compacting.then(() => this.#compactTo(upTo));
    this.#compacting = compaction.catch(() => {});
    await compaction;
  }

  async size(): Promise<number> {
    this.#assertOpen();
    return this.#calls.call('size');
  }

  async historySize(upTo: Revision): Promise<number> {
    this.#assertOpen();
    let total = 0;
    for (let after = 0; ; ) {
      const { bytes, last } = await this.#calls.call('measureHistory', after, upTo);
      if (last === undefined) return total;
      total += bytes;
      after = last;
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** The worker has died: nothing can be read or written any more. */
  fail(error: StoreError): void {
    this.#logger.error('the store has failed', { error: error.message });
    this.#unavailable ??= error;
    this.#closing.abort();
    this.#moved.notifyAll();
  }

  async #close(): Promise<void> {
    this.#unavailable ??= new StoreError('unavailable', 'the store is closed');
    this.#closing.abort();
    this.#moved.notifyAll();
    await this.#writes.idle();
    await Promise.all([this.#compacting, this.#reserving]);
    await this.#calls.end();
  }

  #writesFail(error: unknown): void {
    if (this.#isFailing || this.#unavailable) return;
    this.#isFailing = true;
    this.#logger.error('the disk does not keep what is written: writes fail until it does', { error });
  }

  #written(changes: readonly Change[]): void {
    if (this.#isFailing && changes.length > 0) {
      this.#isFailing = false;
      this.#logger.info('the disk keeps what is written again: writes go on');
    }
    this.#publish(changes);
  }

  /** What others changed in a transaction, before, between and after the client's own groups. */
  #publishOthers(changes: SharedArrayBuffer, own: readonly PackedStretch[]): void {
    let from = 0;
    for (const [begin, end] of [...own, [changes.byteLength, changes.byteLength] as const]) {
      if (from < begin) this.#publish(unpackChanges(changes, from, begin));
      from = end;
    }
  }

  #publish(changes: readonly Change[]): void {
    const [first] = changes;
    const last = changes.at(-1);
    if (!first || !last) return;
    // Revisions have no gaps: what comes between is on its way.
    if (first.revision > this.#head + 1 && this.#isShared) {
      this.#early.push(changes);
      return;
    }
    this.#recent.add(changes);
    this.#head = last.revision;
    this.#moved.notifyAll();
    const next = this.#early.findIndex(([early]) => early && early.revision <= last.revision + 1);
    if (next >= 0) this.#publish(this.#early.splice(next, 1)[0] ?? []);
  }

  async #scan(range: KeyRange, { limit, room }: WantedRecords): Promise<readonly StoreRecord[]> {
    const records: StoreRecord[] = [];
    let after = range.after;
    while (records.length < limit) {
      const wanted = { limit: limit - records.length, room };
      const part = unpackRecords(await this.#calls.call('scan', { ...range, after }, wanted), room);
      const last = part.at(-1);
      if (!last) break;
      for (const record of part) records.push(record);
      after = last.key;
    }
    return records;
  }

  async #count(range: KeyRange, wanted: ListOptions['remaining']): Promise<number> {
    if (wanted === 'whether') return (await this.#calls.call('count', range, 1)).count;
    let total = 0;
    for (let after = range.after; ; ) {
      const { count, last } = await this.#calls.call('count', { ...range, after }, countRowsMax);
      if (last === undefined) return total;
      total += count;
      after = last;
    }
  }

  /**
   * Changes after `position`, from the file. The rows it needs still exist: `position` was not compacted when the call
   * was sent, and only later calls delete rows.
   */
  async #history(position: Revision): Promise<readonly Change[]> {
    return unpackChanges(await this.#calls.call('history', position));
  }

  async #compactTo(upTo: Revision): Promise<void> {
    if (upTo > this.#compacted) {
      await this.#calls.call('forget', upTo);
      this.#compacted = upTo;
    }
    while (await this.#listsAllow(upTo)) {
      if (!(await this.#calls.call('sweep'))) break;
    }
    while (!this.#closing.signal.aborted && (await this.#calls.call('vacuum', 'excess')));
  }

  /** Fills the reserve: not while the start needs the disk, and as soon as there is room. */
  async #keepReserve(): Promise<void> {
    const { signal } = this.#closing;
    for (let waitMs: number = limits.sqliteReserveDelayMs; ; waitMs = limits.sqliteReserveRetryMs) {
      await pause(this.#clock, waitMs, signal);
      if (signal.aborted || this.#isFull) return;
      try {
        if (await this.#holdReserve()) return;
        this.#logger.warn('the disk has no room for what deletions would need if it became full');
      } catch (error) {
        if (!signal.aborted) this.#logger.warn('no room could be set aside for deletions', { error });
      }
    }
  }

  /** False if there is no room for it. */
  async #holdReserve(): Promise<boolean> {
    for (;;) {
      const state = await this.#calls.call('holdReserve');
      if (state !== 'more') return state === 'held';
    }
  }

  #becameFull(): void {
    if (this.#isFull || !this.#keepsFile) return;
    this.#isFull = true;
    this.#reserving = Promise.all([this.#reserving, this.#makeRoom()]).then(() => {});
  }

  /**
   * Compacts all history, which a full disk can spare, and returns the freed space to the file system, until the
   * reserve can be refilled. If that is not enough, room must come from elsewhere; deletions still work.
   */
  async #makeRoom(): Promise<void> {
    const { signal } = this.#closing;
    this.#logger.error('no room is left on the disk: only deletions, and writes that make objects smaller, are taken');
    while (!signal.aborted) {
      try {
        await this.compact(this.#last);
        while (!signal.aborted && (await this.#calls.call('vacuum', 'all')));
        if (await this.#holdReserve()) {
          this.#isFull = false;
          this.#logger.info('there is room on the disk again: writes go on');
          return;
        }
      } catch (error) {
        if (!signal.aborted) this.#logger.debug('no room could be made', { error });
      }
      await pause(this.#clock, limits.sqliteFullRetryMs, signal);
    }
  }

  /** Waits for lists that still read before `upTo`. False if the store is closing: the rest is swept next time. */
  async #listsAllow(upTo: Revision): Promise<boolean> {
    const { signal } = this.#closing;
    while (!signal.aborted && [...this.#listing].some(({ at }) => at < upTo)) await this.#listed.wait(signal);
    return !signal.aborted;
  }

  #assertReadable(at: Revision): void {
    this.#assertReached(at);
    this.#assertKept(at);
  }

  #assertReached(revision: Revision): void {
    const last = this.#last;
    if (revision <= last) return;
    const message = `revision ${revision} is beyond the head, ${last}`;
    throw new StoreError('futureRevision', message, { revision: last });
  }

  #assertKept(revision: Revision): void {
    if (revision >= this.#compacted) return;
    const message = `history before revision ${this.#compacted} is gone`;
    throw new StoreError('compacted', message, { revision: this.#compacted });
  }

  #assertOpen(): void {
    if (this.#unavailable) throw this.#unavailable;
  }
}
