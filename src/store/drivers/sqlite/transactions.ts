import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StoreError } from '../../store.ts';
import { isNeverCommitted, toStoreError } from './sqlite-error.ts';

/** `inDoubt`: it may be in the log all the same. */
type Outcome<Result> = { readonly result: Result } | { readonly error: StoreError; readonly inDoubt: boolean };

/**
 * Transactions of a data file, one at a time.
 *
 * If a commit fails after its last page was written to the write-ahead log (its sync failed, or the log's index could not
 * grow), it stays invisible while this process runs, and the next commit overwrites it. If the process ends before that, the
 * next start finds it. Nor would a second sync tell: after a failed one the kernel may count pages as written that are not.
 * So what failed is overwritten at once by a commit that changes nothing; where that is durable, nothing was done.
 */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  /** Both together change nothing, but a page is written. */
  readonly #touch: readonly StatementSync[];
  /** Why the last commit may be in the log although it failed. */
  #doubt: StoreError | undefined;

  constructor(database: DatabaseSync, file: string) {
    this.#database = database;
    this.#file = file;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#touch = ['+', '-'].map((sign) => database.prepare(`UPDATE meta SET swept = swept ${sign} 1`));
  }

  /**
   * The result of `work`, whose changes are durable then. If it throws, none was made and none ever will be, unless the error
   * is `unknownOutcome`.
   */
  run<Result>(work: () => Result): Result {
    // Nothing may follow what may be in the log.
    if (this.#doubt && !this.#settle()) throw this.#doubt;
    const outcome = this.#attempt(work);
    if ('result' in outcome) return outcome.result;
    const { error, inDoubt } = outcome;
    if (!inDoubt) throw error;
    this.#doubt = error;
    if (this.#settle()) throw error;
    throw new StoreError('unknownOutcome', `${error.message}; whether it is on the disk is not known`, {
      cause: error,
    });
  }

  /** Overwrites the commit that failed. False if that cannot be made durable either. */
  #settle(): boolean {
    const outcome = this.#attempt(() => {
      for (const statement of this.#touch) statement.run();
    });
    this.#doubt = 'error' in outcome ? outcome.error : undefined;
    return this.#doubt === undefined;
  }

  #attempt<Result>(work: () => Result): Outcome<Result> {
    let reached: 'work' | 'commit' = 'work';
    try {
      this.#begin.run();
      const result = work();
      reached = 'commit';
      this.#commit.run();
      return { result };
    } catch (error) {
      if (this.#database.isTransaction) this.#rollback.run();
      return { error: toStoreError(error, this.#file), inDoubt: reached === 'commit' && !isNeverCommitted(error) };
    }
  }
}
