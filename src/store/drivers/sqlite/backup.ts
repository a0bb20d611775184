import { type CopyProgress, type CopyResult, copyDataFile } from './copy-data-file.ts';
import { placeFile } from './placed-file.ts';
import { assertOneName } from './real-file.ts';

export interface BackupOptions {
  /** The data file, in use or not. */
  readonly file: string;
  /** Path of the copy. Must not exist. */
  readonly to: string;
  readonly progress?: CopyProgress;
}

/**
 * Copies a data file at one revision, from any process, while its owner serves and writes. `to` appears complete,
 * synced and with mode 0600, or not at all. It can be opened by `openSqliteStore` directly or passed to
 * `restoreSqlite`.
 *
 * Fails with `unavailable` if `to` exists, or `file` does not or has other names (hard links), `corrupt` if `file` is damaged, `full` if the disk is
 * full.
 */
export const backupSqlite = ({ file, to, progress }: BackupOptions): Promise<CopyResult> =>
  placeFile(to, (unfinished) => {
    assertOneName(file);
    return copyDataFile(file, unfinished, progress);
  });
