import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { StoreError } from '../../store.ts';
import { checkpointPages, readNumber } from './data-file.ts';
import { isIoError } from './sqlite-error.ts';

/** Rows and pages written after which the size of the log is looked at: its size is not known otherwise. */
const lookAfter = 64;

/**
 * Moves the write-ahead log into the data file, as SQLite would by itself. SQLite syncs the file when it has moved the whole
 * log. While another connection reads, such as a backup, it moves a part, counts that as done, and does not sync. If the
 * sync at the end of a later checkpoint fails, the kernel may have dropped pages of any of them, and SQLite would move only
 * the last ones again: what was acknowledged would be gone once the log is overwritten. Then the log is kept, and grows,
 * until the next start, which moves all of it again. SQLite's own checkpoints do not tell that a sync has failed.
 */
export class Checkpointer {
  readonly #database: DatabaseSync;
  readonly #file: string;
  /** Tells the size of the log. SQLite before 3.51 does not know this mode, and moves the log at each look. */
  readonly #look: StatementSync;
  readonly #move: StatementSync;
  readonly #truncate: StatementSync;
  #written = 0;
  /** A part of the log was moved and may not be synced. */
  #isPartial = false;
  #problem: StoreError | undefined;

  constructor(database: DatabaseSync, file: string) {
    this.#database = database;
    this.#file = file;
    database.exec('PRAGMA wal_autocheckpoint = 0');
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#move = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    this.#truncate = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Called after each commit with the rows and pages that it wrote, about. Never throws: the commit is durable. */
  wrote(count: number): void {
    this.#written += count;
    if (this.#written < lookAfter) return;
    this.#written = 0;
    this.attempt(() => {
      if (this.#run(this.#look) >= checkpointPages) this.move();
    });
  }

  /** Moves the log, or the part of it that no other connection reads. */
  move(): void {
    this.#run(this.#move);
  }

  /** Moves the log and empties it, unless another connection reads it now. Throws if it could not. */
  truncate(): void {
    const waitMs = readNumber(this.#database, 'PRAGMA busy_timeout');
    try {
      this.#database.exec('PRAGMA busy_timeout = 0');
      this.#run(this.#truncate);
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${waitMs}`);
    }
  }

  /** For whoever can do without: the log is intact, and the next checkpoint moves it. */
  attempt(checkpoint: () => void): void {
    try {
      checkpoint();
    } catch {
      // Compaction moves the log too, and reports what is wrong.
    }
  }

  /** Closes the database. As its last connection this moves the log, and removes it. */
  close(): void {
    // A last connection that may not write leaves the log where it is.
    const last = this.#problem && new DatabaseSync(this.#file, { readOnly: true });
    try {
      last?.prepare('SELECT compacted FROM meta').get();
      this.#database.close();
    } finally {
      last?.close();
    }
  }

  /** Returns the pages of the log. */
  #run(checkpoint: StatementSync): number {
    if (this.#problem) throw this.#problem;
    try {
      const { log, checkpointed } = checkpoint.get() as { readonly log: number; readonly checkpointed: number };
      // Nothing was done if another connection was at it.
      if (log >= 0) this.#isPartial = checkpointed > 0 && checkpointed < log;
      return log;
    } catch (error) {
      if (this.#isPartial && isIoError(error)) this.#problem = notSynced(this.#file, error);
      throw this.#problem ?? error;
    }
  }
}

const notSynced = (file: string, cause: unknown): StoreError => {
  const message = `${file} could not be synced while its log was moved into it: ${cause instanceof Error ? cause.message : cause}`;
  return new StoreError('unavailable', `${message}; the log is kept and grows until this process starts again`, {
    cause,
  });
};
