/**
 * Tells a data file that goes on where it was left from a copy: a backup that is served, a file that was copied by hand,
 * an older copy in the place of the file. Two histories part where the copy was made, and would go on with the same
 * revisions: a client of the one that comes to the other would wait for a revision that means something else there, and
 * miss what is before it. So a copy begins above all revisions that the original may have given out, and counts what is
 * before as compacted, which sends such clients to list again.
 *
 * A file goes on when three things agree:
 *
 * - the mark in the file and the one in `<file>-identity`. Both are new after each start, so that neither a copy without its
 *   companion passes nor an older copy over the file.
 * - the file that they were made for, by its inode and the time when it was made: in a copy of the whole folder it is another.
 *   A file that is moved within a file system is the same.
 *
 * Nothing of this is synced to the disk by itself, so that it costs a start next to nothing: a write that is acknowledged is
 * synced with the mark before it. Where the marks come to differ, by a power cut or a full disk, a file is taken for a copy, and
 * its clients list once more than they need.
 *
 * What is copied below the file system, such as a volume or a machine, cannot be told from the original.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../base/limits.ts';
import { systemRandom } from '../../../base/random.ts';
import { type Revision, StoreError } from '../../store.ts';
import { headOf, readNumber, readText } from './data-file.ts';
import { isFullDisk, toStoreError } from './sqlite-error.ts';

/**
 * Called at each start, by the owner: marks the file anew, and moves a copy ahead. Gives the revision that it goes on from
 * then; undefined for a file that goes on where it was left, or in which nothing was ever written.
 */
export const claimDataFile = (database: DatabaseSync, file: string, nowMs: number): Revision | undefined => {
  const hasHistory = headOf(database) > 1;
  const moved = hasHistory && !isLeftHere(database, file);
  let revision: Revision | undefined;
  const mark = inTransaction(database, () => {
    if (moved) revision = moveAhead(database, nowMs);
    return markAnew(database);
  });
  vouchFor(file, mark);
  return revision;
};

/** Moves a copy ahead that nobody has served yet, and marks it. Gives its revision, and the mark for `vouchFor`. */
export const moveCopyAhead = (
  database: DatabaseSync,
  nowMs: number,
): { readonly revision: Revision; readonly mark: string } =>
  inTransaction(database, () => ({ revision: moveAhead(database, nowMs), mark: markAnew(database) }));

/** Takes the mark out of a copy. */
export const unmarkCopy = (database: DatabaseSync): void => {
  if (isMarked(database)) database.exec('DROP TABLE identity');
};

/** Notes that the file which is at that place now is the one with the mark. */
export const vouchFor = (file: string, mark: string): void => {
  const companion = companionOf(file);
  const unfinished = `${companion}.${mark}`;
  try {
    writeFileSync(unfinished, identityOf(file, mark), { mode: 0o600 });
    renameSync(unfinished, companion);
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (!isFullDisk(error)) throw toStoreError(error, companion);
  }
};

/**
 * Two bounds, of which the larger holds. No server commits a million writes in each second of its life, so the microseconds
 * since 1970 are above what any reached, also when one backup is served twice; the step helps where a clock is wrong.
 */
export const revisionAfterCopy = (head: Revision, nowMs: number): Revision => {
  const revision = Math.max(head + limits.copyRevisionStep, Math.floor(nowMs * 1_000));
  if (Number.isSafeInteger(revision)) return revision;
  throw new StoreError('corrupt', `no revision is left after ${head}`);
};

const companionOf = (file: string): string => `${file}-identity`;

const isLeftHere = (database: DatabaseSync, file: string): boolean => {
  const companion = companionOf(file);
  if (!isMarked(database) || !existsSync(companion)) return false;
  const mark = readText(database, 'SELECT mark FROM identity');
  return mark !== '' && readFileSync(companion, 'utf8') === identityOf(file, mark);
};

const identityOf = (file: string, mark: string): string => {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return `mark=${mark} inode=${ino} born=${birthtimeNs}\n`;
};

/** Files of before have no marks. */
const isMarked = (database: DatabaseSync): boolean =>
  readNumber(database, `SELECT count(*) FROM sqlite_schema WHERE name = 'identity'`) === 1;

const markAnew = (database: DatabaseSync): string => {
  const mark = systemRandom.uuid();
  database.exec(`CREATE TABLE IF NOT EXISTS identity (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL)`);
  database.prepare('INSERT OR REPLACE INTO identity VALUES (1, ?)').run(mark);
  return mark;
};

const moveAhead = (database: DatabaseSync, nowMs: number): Revision => {
  const revision = revisionAfterCopy(headOf(database), nowMs);
  database.prepare('UPDATE meta SET compacted = ?').run(revision);
  return revision;
};

const inTransaction = <Result>(database: DatabaseSync, work: () => Result): Result => {
  // In the mode of the log this syncs nothing.
  database.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT; PRAGMA synchronous = FULL');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
};
