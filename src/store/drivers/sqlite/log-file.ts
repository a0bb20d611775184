import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import { historyRecordBytes, isStoreError, type Revision, StoreError } from '../../store.ts';
import { Checkpointer } from './checkpointer.ts';
import { assertFolder, headOf, openDataFile, pageBytes, readNumber } from './data-file.ts';
import { DiskReserve, type ReserveState } from './disk-reserve.ts';
import { eraseDeleted } from './erased-values.ts';
import { claimDataFile } from './file-identity.ts';
import { boundsOf, type KeyRange } from './key-range.ts';
import {
  type BatchOutcome,
  type GroupOutcome,
  type PackedBatch,
  type PackedWrite,
  packChange,
  packOutcomes,
  packRecord,
  unpackWrites,
  type WriteOutcome,
  type WriteRefusal,
} from './messages.ts';
import { lockDataFile } from './owner-lock.ts';
import type { RecordPacker, RecordRow } from './packed-records.ts';
import { Packer } from './packing.ts';
import { assertOneName, realFileOf } from './real-file.ts';
import { toStoreError } from './sqlite-error.ts';
import { Transactions } from './transactions.ts';

/** The worker's calls, executed one at a time. Each call is short: longer work takes several calls. */
export interface LogFile {
  /** Takes the lock, and opens or creates the file. Must be the first call, and is called once. */
  open(options: LogFileOptions): OpenedLog;
  /**
   * Commits a packed group of writes and batches with one sync to disk; each is evaluated on the state that the
   * previous ones left. Returns packed outcomes. If it throws, no write of the group has happened, unless the error is
   * `unknownOutcome`.
   */
  commit(writes: ArrayBuffer): ArrayBuffer;
  /** The same, unpacked. */
  commitWrites(writes: readonly (PackedWrite | PackedBatch)[]): GroupOutcome;
  /** The packed record of a key; an empty message if there is none. */
  get(key: string, at: Revision | undefined): ArrayBuffer;
  /** Adds records in order of key: a slice, which may end early. */
  scan(range: KeyRange, limit: number, records: RecordPacker): ScannedSlice;
  /** Counts keys, at most `max`: a slice, which ends at `last`. `last` is undefined if nothing follows. */
  count(range: KeyRange, max: number): { readonly count: number; readonly last: string | undefined };
  /** Packed changes after a revision: a slice, which may end early. Empty only if nothing follows. */
  history(after: Revision): ArrayBuffer;
  /** Bytes of the file and its write-ahead log. */
  size(): number;
  /**
   * The bytes that unswept rows after `after`, up to `upTo`, added to history, counted as in `Store.historySize`: a
   * slice, which ends at `last`. `last` is undefined if nothing follows.
   */
  measureHistory(after: Revision, upTo: Revision): { readonly bytes: number; readonly last: Revision | undefined };
  /** Durably records that history before `upTo` is compacted. */
  forget(upTo: Revision): void;
  /** Deletes a slice of the compacted rows. True while there may be more. */
  sweep(): boolean;
  /**
   * Returns a slice of the free pages to the file system, except those that the next writes are likely to need; `all`:
   * these too. True while there may be more.
   */
  vacuum(pages: 'excess' | 'all'): boolean;
  /**
   * Fills a slice of the reserve; see `DiskReserve`. Once it is complete, writes that need room are accepted again;
   * after the reserve was in use, it is refilled only if more room is free than it needs.
   */
  holdReserve(): ReserveState;
  /** Moves the write-ahead log into the file, and releases the file. */
  close(): void;
}

export interface LogFileOptions {
  readonly file: string;
  /**
   * The size that the file may grow to, except for deletions; writes beyond it fail with `full`. Default: limited by
   * the disk.
   */
  readonly fileBytesMax?: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * Overwrite what is deleted, in the file and in its write-ahead log, so that no value can be found there once
   * compaction is over. Default: its bytes stay until the space is used again.
   */
  readonly erase?: boolean;
  /** Bytes kept free for deletions. Default: `limits.sqliteReserveBytes`. */
  readonly reserveBytes?: number;
}

export interface OpenedLog {
  readonly head: Revision;
  readonly compacted: Revision;
  /** Set if the file is a copy: the revision at which it continues. */
  readonly copiedTo: Revision | undefined;
  /** The disk was full, and the reserve is in use. */
  readonly isFull: boolean;
  /** Why what was deleted before the file was opened with `erase` may still be found in it. */
  readonly eraseProblem?: string;
}

interface ScannedSlice {
  /** 0 only if nothing follows. */
  readonly count: number;
  /** Of the values. */
  readonly bytes: number;
  /** The last key; undefined if there was none. */
  readonly last: string | undefined;
}

/** Bytes after which a slice of records or changes ends. Milliseconds of work, which a write may have to wait for. */
const sliceBytesMax = 512 * 1024;
const sliceRowsMax = 1_000;
/** Rows measured per slice. Nothing waits for the result, but other calls wait for each slice. */
const measuredRowsMax = 100;
/** Rows examined, bytes of rows deleted, and pages moved per transaction of compaction. */
const sweepRowsMax = 500;
const sweepBytesMax = 8 * 1024 * 1024;
const vacuumPagesMax = 128;
/** Free pages kept in the file for the next writes: this many, or this share of the file. */
const sparePagesMin = 128;
const sparePagesShare = 1 / 8;

const nothing = new Uint8Array(0);

/** An open file and everything the calls need; discarded when it is closed. */
interface OpenLog {
  readonly file: string;
  readonly lock: Closable;
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly transactions: Transactions;
  readonly checkpointer: Checkpointer;
  /** Largest number of pages of the file, except for deletions. */
  readonly pagesMax: number | undefined;
  readonly erases: boolean;
  head: Revision;
  compacted: Revision;
}

export class SqliteLogFile implements LogFile {
  #log: OpenLog | undefined;
  /** Set when damage was found: nothing more is written to the file. */
  #damage: StoreError | undefined;
  #reserve: DiskReserve | undefined;
  #reserveBytes = 0;
  /** The disk is full: the reserve is in use, and only writes that free room are accepted. */
  #isFull = false;

  open(options: LogFileOptions): OpenedLog {
    const { reserveBytes = limits.sqliteReserveBytes } = options;
    const file = realFileOf(options.file);
    assertFolder(file);
    this.#reserveBytes = reserveBytes;
    this.#reserve = new DiskReserve(file, reserveBytes);
    try {
      return this.#open({ ...options, file });
    } catch (error) {
      if (!isStoreError(error, 'full') || !this.#reserve.isHeld) throw error;
      this.#useReserve();
      return this.#open({ ...options, file });
    }
  }

  #open({ file, fileBytesMax, nowMs, erase = false }: LogFileOptions): OpenedLog {
    const lock = lockDataFile(file);
    let database: DatabaseSync | undefined;
    try {
      assertOneName(file);
      database = openDataFile(file);
      const checkpointer = new Checkpointer(database, file);
      const copiedTo = claimDataFile(database, file, nowMs);
      const eraseProblem = eraseDeleted(database, checkpointer, erase);
      const pagesMax = fileBytesMax === undefined ? undefined : pagesOf(database, fileBytesMax);
      const compacted = readNumber(database, 'SELECT compacted FROM meta');
      const head = headOf(database);
      this.#log = {
        file,
        lock,
        database,
        statements: prepareStatements(database),
        transactions: new Transactions(database, file),
        checkpointer,
        pagesMax,
        erases: erase,
        head,
        compacted,
      };
      this.#limitPages();
      return { head, compacted, copiedTo, isFull: this.#isFull, ...(eraseProblem !== undefined && { eraseProblem }) };
    } catch (error) {
      database?.close();
      lock.close();
      throw toStoreError(error, file);
    }
  }

  commit(packed: ArrayBuffer): ArrayBuffer {
    return packOutcomes(this.commitWrites(unpackWrites(packed)));
  }

  commitWrites(writes: readonly (PackedWrite | PackedBatch)[]): GroupOutcome {
    if (!this.#isFull) {
      try {
        return this.#commit(writes);
      } catch (error) {
        if (!isStoreError(error, 'full')) throw error;
        this.#useReserve();
      }
    }
    const outcomes = this.#commit(writes);
    this.#attemptCheckpoint();
    return outcomes;
  }

  #commit(writes: readonly (PackedWrite | PackedBatch)[]): GroupOutcome {
    return this.#writing((log) => {
      let head = log.head;
      const outcomes = writes.map((write) => {
        const at = { revision: head + 1, isFull: this.#isFull };
        if (write.verb === 'batch') {
          const outcome = applyBatch(log.statements, write, at);
          if (outcome.status === 'batchCommitted') head += write.writes.length;
          return outcome;
        }
        const outcome = applyWrite(log.statements, write, at);
        if (outcome.status === 'committed') head = outcome.revision;
        return outcome;
      });
      return () => {
        log.head = head;
        log.checkpointer.wrote(pagesOfWrites(writes));
        return { isFull: this.#isFull, outcomes };
      };
    });
  }

  get(key: string, at: Revision | undefined): ArrayBuffer {
    return this.#reading(({ statements, head, compacted }) => {
      if (at !== undefined) assertKept(at, compacted);
      const packer = new Packer(0);
      const bytes = Buffer.from(key);
      const row = statements.latest.get(bytes, at ?? head) as LatestRow | undefined;
      if (row && row[1] === 0) packRecord(packer, bytes, row[0], valueAt(statements, row[0]));
      return packer.finish();
    });
  }

  scan(range: KeyRange, limit: number, records: RecordPacker): ScannedSlice {
    return this.#reading(({ statements }) => {
      let [count, bytes] = [0, 0];
      let last: string | undefined;
      const [from, until] = boundsOf(range);
      const rows = statements.scan.iterate(from, until, range.at, Math.min(limit, sliceRowsMax));
      for (const row of rows as Iterable<unknown> as Iterable<RecordRow>) {
        records.add(row);
        count++;
        bytes += row[2].length;
        last = row[0];
        if (bytes >= sliceBytesMax) break;
      }
      return { count, bytes, last };
    });
  }

  count(range: KeyRange, max: number): { readonly count: number; readonly last: string | undefined } {
    return this.#reading(({ statements }) => {
      const [from, until] = boundsOf(range);
      const row = statements.count.get(from, until, range.at, max) as unknown as readonly [number, Uint8Array | null];
      return { count: row[0], last: row[1] === null ? undefined : Buffer.from(row[1]).toString() };
    });
  }

  history(after: Revision): ArrayBuffer {
    return this.#reading(({ statements, file, compacted }) => {
      assertKept(after, compacted);
      const packer = new Packer(sliceBytesMax);
      const rows = statements.history.iterate(after, sliceRowsMax) as Iterable<unknown> as Iterable<HistoryRow>;
      for (const [revision, deleted, key, value, previous, previousValue] of rows) {
        if (previous !== 0 && previousValue === null) {
          throw new StoreError('corrupt', `${file} lacks revision ${previous}, which ${revision} replaced`);
        }
        const replaced = previousValue === null ? undefined : { revision: previous, value: previousValue };
        packChange(packer, { revision, deleted: deleted !== 0, key, value, previous: replaced });
        if (packer.length >= sliceBytesMax) break;
      }
      return packer.finish();
    });
  }

  size(): number {
    return this.#reading(({ database, file }) => {
      const bytes = readNumber(database, 'PRAGMA page_count') * readNumber(database, 'PRAGMA page_size');
      return bytes + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    });
  }

  measureHistory(after: Revision, upTo: Revision): { readonly bytes: number; readonly last: Revision | undefined } {
    return this.#reading(({ statements }) => {
      const [bytes, last] = statements.historySize.get(after, upTo, measuredRowsMax) as unknown as readonly [
        number,
        number | null,
      ];
      return { bytes, last: last ?? undefined };
    });
  }

  forget(upTo: Revision): void {
    this.#maintaining((log) => {
      log.statements.forget.run(upTo);
      return () => {
        log.checkpointer.wrote(1);
        log.compacted = Math.max(log.compacted, upTo);
      };
    });
  }

  sweep(): boolean {
    return this.#maintaining(({ statements, checkpointer }) => {
      const rows = statements.toSweep.all(sweepRowsMax) as unknown as readonly SweptRow[];
      let looked = 0;
      for (let bytes = 0; looked < rows.length && bytes < sweepBytesMax; looked++) {
        const [revision, deleted, previous, previousBytes] = rows[looked] as SweptRow;
        if (previous !== 0) statements.remove.run(previous);
        if (deleted !== 0) statements.remove.run(revision);
        bytes += previousBytes ?? 0;
      }
      const more = looked < rows.length || rows.length === sweepRowsMax;
      statements.swept.run(more ? (rows[looked - 1]?.[0] ?? 0) : null);
      return () => {
        checkpointer.wrote(looked);
        return more;
      };
    });
  }

  vacuum(wanted: 'excess' | 'all'): boolean {
    if (this.#damage) throw this.#damage;
    return this.#reading(({ database, checkpointer, erases }) => {
      const free = readNumber(database, 'PRAGMA freelist_count');
      const pages = readNumber(database, 'PRAGMA page_count');
      const spare = wanted === 'all' ? 0 : Math.max(sparePagesMin, pages * sparePagesShare);
      const excess = Math.floor(free - spare);
      if (excess > 0) {
        const moved = Math.min(excess, vacuumPagesMax);
        database.exec(`PRAGMA incremental_vacuum(${moved})`);
        checkpointer.wrote(moved);
      }
      // The file shrinks when the log is moved into it.
      if (this.#isFull) this.#attemptCheckpoint();
      else if (excess <= 0) checkpointer.move();
      if (excess <= 0 && erases) checkpointer.attempt(() => checkpointer.truncate());
      return excess > 0;
    });
  }

  holdReserve(): ReserveState {
    const reserve = this.#reserve;
    if (!reserve) return 'noRoom';
    return this.#reading(({ database, pagesMax }) => {
      const spareBytes = this.#isFull ? this.#reserveBytes / 4 : 0;
      const pages = readNumber(database, 'PRAGMA page_count') + pagesOf(database, spareBytes);
      if (this.#isFull && pagesMax !== undefined && pages > pagesMax) return 'noRoom';
      const state = reserve.hold(spareBytes);
      if (state === 'held' && this.#isFull) {
        this.#isFull = false;
        this.#limitPages();
      }
      return state;
    });
  }

  close(): void {
    const log = this.#log;
    this.#log = undefined;
    if (!log) return;
    log.checkpointer.close();
    log.lock.close();
  }

  #opened(): OpenLog {
    if (!this.#log) throw new StoreError('unavailable', 'the data file is not open');
    return this.#log;
  }

  #reading<Result>(work: (log: OpenLog) => Result): Result {
    const log = this.#opened();
    try {
      return work(log);
    } catch (error) {
      throw this.#failure(log, error);
    }
  }

  #useReserve(): void {
    this.#isFull = true;
    this.#reserve?.release();
    this.#limitPages();
    // Before any other write: a log that cannot be moved can only grow.
    this.#attemptCheckpoint();
  }

  /** Deletions may grow the file by the size of the reserve. */
  #limitPages(): void {
    if (this.#log?.pagesMax === undefined) return;
    const { database, pagesMax } = this.#log;
    const reserved = this.#isFull ? pagesOf(database, this.#reserveBytes) : 0;
    database.exec(`PRAGMA max_page_count = ${Math.max(1, pagesMax + reserved)}`);
  }

  /** Moves the write-ahead log into the file, so that it is written from its start again. */
  #attemptCheckpoint(): void {
    const checkpointer = this.#log?.checkpointer;
    checkpointer?.attempt(() => checkpointer.move());
  }

  /** Like `#writing`, for work that frees room: uses the reserve if the disk is full. */
  #maintaining<Result>(work: (log: OpenLog) => () => Result): Result {
    try {
      return this.#writing(work);
    } catch (error) {
      if (!isStoreError(error, 'full') || this.#isFull) throw error;
      this.#useReserve();
      return this.#writing(work);
    }
  }

  /** Runs `work` in a transaction and, when it is durable, the function that `work` returned. All of it or nothing. */
  #writing<Result>(work: (log: OpenLog) => () => Result): Result {
    const log = this.#opened();
    if (this.#damage) throw this.#damage;
    try {
      return log.transactions.run(() => work(log))();
    } catch (error) {
      throw this.#failure(log, error);
    }
  }

  #failure({ file }: OpenLog, error: unknown): StoreError {
    const failure = toStoreError(error, file);
    if (failure.code === 'corrupt') this.#damage = failure;
    return failure;
  }
}

/** Another client may have compacted since the caller looked. */
export const assertKept = (revision: Revision, compacted: Revision): void => {
  if (revision >= compacted) return;
  throw new StoreError('compacted', `history before revision ${compacted} is gone`, { revision: compacted });
};

type LatestRow = readonly [revision: Revision, deleted: number];
type HistoryRow = readonly [
  revision: Revision,
  deleted: number,
  key: Uint8Array,
  value: Uint8Array,
  previous: Revision,
  previousValue: Uint8Array | null,
];
type SweptRow = readonly [
  revision: Revision,
  deleted: number,
  previous: Revision,
  /** Null if there is none, or it is already deleted. */
  previousBytes: number | null,
];

type Statements = ReturnType<typeof prepareStatements>;

/**
 * The newest row of each key of a range that is not after a revision, unless it is a deletion; read from the index
 * alone.
 */
const currentKeys = `SELECT key, max(revision) AS revision, deleted FROM log
  WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key HAVING NOT deleted ORDER BY key LIMIT ?`;

/** No statement may visit more rows than it returns: the order of an index must suffice, without sorting. */
export const prepareStatements = (database: DatabaseSync) => {
  const prepare = (sql: string): StatementSync => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  return {
    latest: prepare('SELECT revision, deleted FROM log WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1'),
    value: prepare('SELECT value FROM log WHERE revision = ?'),
    insert: prepare('INSERT INTO log (revision, deleted, previous, key, value) VALUES (?, ?, ?, ?, ?)'),
    scan: prepare(
      `SELECT CAST(current.key AS TEXT), current.revision, log.value FROM (${currentKeys}) AS current
        CROSS JOIN log ON log.revision = current.revision`,
    ),
    count: prepare(`SELECT count(*), max(key) FROM (${currentKeys})`),
    history: prepare(
      `SELECT log.revision, log.deleted, log.key, log.value, log.previous, replaced.value
        FROM log LEFT JOIN log AS replaced ON replaced.revision = log.previous
        WHERE log.revision > ? ORDER BY log.revision LIMIT ?`,
    ),
    forget: prepare('UPDATE meta SET compacted = max(compacted, ?)'),
    toSweep: prepare(
      `SELECT log.revision, log.deleted, log.previous, length(replaced.value)
        FROM log LEFT JOIN log AS replaced ON replaced.revision = log.previous
        WHERE log.revision > (SELECT swept FROM meta) AND log.revision <= (SELECT compacted FROM meta)
        ORDER BY log.revision LIMIT ?`,
    ),
    historySize: prepare(
      `SELECT total(bytes), max(revision) FROM (
        SELECT log.revision, iif(log.previous, ifnull(length(replaced.value), 0) + ${historyRecordBytes}, 0) AS bytes
        FROM log LEFT JOIN log AS replaced ON replaced.revision = log.previous
        WHERE log.revision > max(?, (SELECT swept FROM meta)) AND log.revision <= ? ORDER BY log.revision LIMIT ?)`,
    ),
    remove: prepare('DELETE FROM log WHERE revision = ?'),
    swept: prepare('UPDATE meta SET swept = ifnull(?, compacted)'),
  };
};

interface WriteState {
  /** Of the write, or of the first write of a batch. */
  readonly revision: Revision;
  readonly isFull: boolean;
}

/** Applies the write at `revision` if the state permits it. */
const applyWrite = (statements: Statements, write: PackedWrite, state: WriteState): WriteOutcome => {
  const { revision } = state;
  const judged = judgeWrite(statements, write, state);
  if (judged.status !== 'allowed') return judged;
  insertWrite(statements, write, revision);
  return { status: 'committed', revision, previous: judged.previous };
};

/** Applies the writes at the revisions from `revision` on if the state permits all of them. Their keys are distinct. */
const applyBatch = (statements: Statements, { writes }: PackedBatch, state: WriteState): BatchOutcome => {
  const previous: Uint8Array[] = [];
  for (const [index, write] of writes.entries()) {
    const judged = judgeWrite(statements, write, state);
    if (judged.status !== 'allowed') return { status: 'batchRefused', index, refusal: judged };
    previous.push(judged.previous);
  }
  for (const [index, write] of writes.entries()) insertWrite(statements, write, state.revision + index);
  return { status: 'batchCommitted', first: state.revision, previous };
};

/** `previous`: the value that is replaced or deleted. On a full disk, only writes that free room are accepted. */
const judgeWrite = (
  statements: Statements,
  { verb, key, value, expected }: PackedWrite,
  { revision, isFull }: WriteState,
): WriteRefusal | { readonly status: 'allowed'; readonly previous: Uint8Array } => {
  const latest = statements.latest.get(key, revision) as LatestRow | undefined;
  const current = latest && latest[1] === 0 ? latest[0] : undefined;
  if (verb === 'create') {
    if (current !== undefined) return { status: 'exists', revision: current };
    return isFull ? { status: 'full' } : { status: 'allowed', previous: nothing };
  }
  if (current === undefined) return { status: 'notFound' };
  if (current !== expected) return { status: 'conflict', revision: current };
  const previous = valueAt(statements, current);
  if (isFull && verb === 'update' && value.length >= previous.length) return { status: 'full' };
  return { status: 'allowed', previous };
};

/** The write replaces the revision that it expected. */
const insertWrite = (statements: Statements, { verb, key, value, expected }: PackedWrite, revision: Revision): void => {
  statements.insert.run(revision, verb === 'delete' ? 1 : 0, expected, key, value);
};

const valueAt = (statements: Statements, revision: Revision): Uint8Array => {
  const row = statements.value.get(revision) as readonly [Uint8Array] | undefined;
  if (!row) throw new StoreError('corrupt', `the index names revision ${revision}, which is not in the log`);
  return row[0];
};

/** Rows, and pages that are full of a value: about what the writes take in the write-ahead log. */
const pagesOfWrites = (writes: readonly (PackedWrite | PackedBatch)[]): number => {
  let pages = 0;
  for (const write of writes) {
    for (const { value } of write.verb === 'batch' ? write.writes : [write]) pages += 1 + value.length / pageBytes;
  }
  return pages;
};

const pagesOf = (database: DatabaseSync, bytes: number): number =>
  Math.floor(bytes / readNumber(database, 'PRAGMA page_size'));
