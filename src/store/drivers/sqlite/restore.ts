import { type Clock, systemClock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { type Revision, StoreError } from '../../store.ts';
import { type CopyProgress, type CopyResult, copyDataFile } from './copy-data-file.ts';
import { headOf, openDataFileBeside } from './data-file.ts';
import { lockDataFile } from './owner-lock.ts';
import { placeFile } from './placed-file.ts';

export interface RestoreOptions {
  /** A backup. Stays as it is. */
  readonly from: string;
  /** The data file of the server that starts next. Must not exist. */
  readonly to: string;
  readonly clock?: Clock;
  readonly progress?: CopyProgress;
}

/**
 * Makes a data file of a backup, checked first, for a server to be started on. Keys, values and their revisions are those
 * of the backup. The store's own revision goes on above any that clients of the lost server may have seen, and history
 * before that counts as compacted: their watches and exact reads fail with `compacted`, so that they list again instead
 * of missing what the restore took back. Gives the revision that the restored store starts at.
 *
 * Fails with `unavailable` where `to` exists or is in use, or `from` is no backup; `corrupt` where `from` is damaged.
 */
export const restoreSqlite = async ({
  from,
  to,
  clock = systemClock,
  progress,
}: RestoreOptions): Promise<CopyResult> => {
  const lock = lockDataFile(to);
  try {
    return await placeFile(to, async (unfinished) => {
      const { bytes } = await copyDataFile(from, unfinished, progress);
      return { bytes, revision: moveAhead(unfinished, clock.now()) };
    });
  } finally {
    lock.close();
  }
};

const moveAhead = (file: string, nowMs: number): Revision => {
  const database = openDataFileBeside(file);
  try {
    const revision = revisionAfterRestore(headOf(database), nowMs);
    database.exec('PRAGMA synchronous = FULL');
    database.prepare('UPDATE meta SET compacted = ?').run(revision);
    return revision;
  } finally {
    database.close();
  }
};

/**
 * Two bounds, of which the larger holds. No server commits a million writes in each second of its life, so the microseconds
 * since 1970 are above what any reached, also when one backup is restored twice; the step helps where a clock is wrong.
 */
export const revisionAfterRestore = (head: Revision, nowMs: number): Revision => {
  const revision = Math.max(head + limits.restoreRevisionStep, Math.floor(nowMs * 1_000));
  if (Number.isSafeInteger(revision)) return revision;
  throw new StoreError('corrupt', `no revision is left after ${head}`);
};
