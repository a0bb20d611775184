import { type Clock, systemClock } from '../../../base/time/clock.ts';
import { type CopyProgress, type CopyResult, copyDataFile } from './copy-data-file.ts';
import { openDataFileBeside } from './data-file.ts';
import { moveCopyAhead, recordIdentity } from './file-identity.ts';
import { lockDataFile } from './owner-lock.ts';
import { placeFile } from './placed-file.ts';
import { realFileOf } from './real-file.ts';

export interface RestoreOptions {
  /** A backup. Not modified. */
  readonly from: string;
  /** The data file of the server that will be started. Must not exist. */
  readonly to: string;
  readonly clock?: Clock;
  readonly progress?: CopyProgress;
}

/**
 * Creates a data file from a backup, after verifying it. Keys, values and their revisions are those of the backup. The
 * store's own revision continues above any that clients of the lost server may have seen, and history before that is
 * compacted: their watches and exact reads fail with `compacted`, so that they relist instead of missing what the
 * restore reverted. Returns the revision that the restored store starts at.
 *
 * Fails with `unavailable` if `to` exists or is in use, or `from` is not a backup; `corrupt` if `from` is damaged.
 */
export const restoreSqlite = async ({
  from,
  clock = systemClock,
  progress,
  ...options
}: RestoreOptions): Promise<CopyResult> => {
  const to = realFileOf(options.to);
  const lock = lockDataFile(to);
  try {
    const { mark, ...result } = await placeFile(to, async (unfinished) => {
      const { bytes } = await copyDataFile(from, unfinished, progress);
      return { bytes, ...moveAhead(unfinished, clock.now()) };
    });
    // Otherwise the file would be taken for a new copy when it is first served.
    recordIdentity(to, mark);
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
