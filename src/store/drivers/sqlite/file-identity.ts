/**
 * Distinguishes a data file that continues its own history from a copy: a backup that is served, a file copied by hand,
 * an older copy put in place of the file. After a copy, two histories diverge and would use the same revisions: a
 * client that moves from one to the other would wait for a revision that means something else there, and miss changes
 * before it. So a copy continues above every revision that the original may have assigned, and treats everything before
 * as compacted, which makes such clients relist.
 *
 * A file is the original if three things agree:
 *
 * - the mark in the file and the mark in `<file>-identity`. Both are renewed at each start, so neither a copy without
 *   its companion file passes nor an older copy put over the file.
 * - the file the marks were made for, by its inode and creation time: both differ in a copy of the whole folder. A file
 *   that is moved within a file system remains the same.
 *
 * A start that is killed on its way leaves the original: the other file has the new mark beside the old one until the file
 * itself has it.
 *
 * The mark in the file is synced, since writes follow it in the log: if their sync failed, it could be lost with them, and
 * with it all that comes after it. The other one is not. If the marks diverge through a power failure or a full disk, the
 * file is taken for a copy, and its clients relist once without need.
 *
 * Copies made below the file system, such as of a volume or a machine, cannot be distinguished from the original.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../base/limits.ts';
import { systemRandom } from '../../../base/random.ts';
import { type Revision, StoreError } from '../../store.ts';
import { headOf, readNumber, readText } from './data-file.ts';
import { isFullDisk, toStoreError } from './sqlite-error.ts';

/**
 * Called by the owner at each start: renews the mark, and moves a copy ahead. Returns the revision at which the copy
 * continues; undefined for a file that is the original, or to which nothing was ever written.
 */
export const claimDataFile = (database: DatabaseSync, file: string, nowMs: number): Revision | undefined => {
  const hasHistory = headOf(database) > 1;
  const moved = hasHistory && !isOriginal(database, file);
  let revision: Revision | undefined;
  const mark = systemRandom.uuid();
  if (hasHistory && !moved) recordIdentity(file, markOf(database), mark);
  inTransaction(database, () => {
    if (moved) revision = moveAhead(database, nowMs);
    setMark(database, mark);
  });
  recordIdentity(file, mark);
  return revision;
};

/** Moves a copy that was never served ahead, and marks it. Returns its revision, and the mark for `recordIdentity`. */
export const moveCopyAhead = (
  database: DatabaseSync,
  nowMs: number,
): { readonly revision: Revision; readonly mark: string } =>
  inTransaction(database, () => ({ revision: moveAhead(database, nowMs), mark: renewMark(database) }));

/** Marks a file that was made of the records of another store: history before `compacted` is none. Returns the mark for `recordIdentity`. */
export const markAt = (database: DatabaseSync, compacted: Revision): string =>
  inTransaction(database, () => {
    database.prepare('UPDATE meta SET compacted = ?').run(compacted);
    return renewMark(database);
  });

/** Removes the mark from a copy. */
export const unmarkCopy = (database: DatabaseSync): void => {
  if (isMarked(database)) database.exec('DROP TABLE identity');
};

/** Records that the file now at that path is the one with the mark, which is one of these. */
export const recordIdentity = (file: string, ...marks: readonly string[]): void => {
  const companion = companionOf(file);
  const unfinished = `${companion}.${marks.at(-1)}`;
  try {
    writeFileSync(unfinished, marks.map((mark) => identityOf(file, mark)).join(''), { mode: 0o600 });
    renameSync(unfinished, companion);
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (!isFullDisk(error)) throw toStoreError(error, companion);
  }
};

/**
 * The larger of two bounds. No server sustains a million commits per second over its lifetime, so the microseconds
 * since 1970 exceed any revision reached, even if one backup is served twice; the fixed step covers a wrong clock.
 */
export const revisionAfterCopy = (head: Revision, nowMs: number): Revision => {
  const revision = Math.max(head + limits.copyRevisionStep, Math.floor(nowMs * 1_000));
  if (Number.isSafeInteger(revision)) return revision;
  throw new StoreError('corrupt', `no revision is left after ${head}`);
};

const companionOf = (file: string): string => `${file}-identity`;

const isOriginal = (database: DatabaseSync, file: string): boolean => {
  const companion = companionOf(file);
  if (!isMarked(database) || !existsSync(companion)) return false;
  const mark = markOf(database);
  return (
    mark !== '' &&
    readFileSync(companion, 'utf8')
      .split(/(?<=\n)/)
      .includes(identityOf(file, mark))
  );
};

const markOf = (database: DatabaseSync): string => readText(database, 'SELECT mark FROM identity');

const identityOf = (file: string, mark: string): string => {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return `mark=${mark} inode=${ino} born=${birthtimeNs}\n`;
};

/** Files of earlier versions have no marks. */
const isMarked = (database: DatabaseSync): boolean =>
  readNumber(database, `SELECT count(*) FROM sqlite_schema WHERE name = 'identity'`) === 1;

const renewMark = (database: DatabaseSync): string => {
  const mark = systemRandom.uuid();
  setMark(database, mark);
  return mark;
};

const setMark = (database: DatabaseSync, mark: string): void => {
  database.exec(`CREATE TABLE IF NOT EXISTS identity (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL)`);
  database.prepare('INSERT OR REPLACE INTO identity VALUES (1, ?)').run(mark);
};

const moveAhead = (database: DatabaseSync, nowMs: number): Revision => {
  const revision = revisionAfterCopy(headOf(database), nowMs);
  database.prepare('UPDATE meta SET compacted = ?').run(revision);
  return revision;
};

const inTransaction = <Result>(database: DatabaseSync, work: () => Result): Result => {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
};
