import { type Clock, systemClock } from '../../../base/clock.ts';
import { moveCopyAhead, vouchFor } from './copied-file.ts';
import { type CopyProgress, type CopyResult, copyDataFile } from './copy-data-file.ts';
import { openDataFileBeside } from './data-file.ts';
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
    const { mark, ...result } = await placeFile(to, async (unfinished) => {
      const { bytes } = await copyDataFile(from, unfinished, progress);
      return { bytes, ...moveAhead(unfinished, clock.now()) };
    });
    // So that it is not taken for another copy when it is served.
    vouchFor(to, mark);
    return result;
  } finally {
    lock.close();
  }
};

const moveAhead = (file: string, nowMs: number) => {
  const database = openDataFileBeside(file);
  try {
    return moveCopyAhead(database, nowMs);
  } finally {
    database.close();
  }
};
