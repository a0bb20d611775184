import { type CopyProgress, type CopyResult, copyDataFile } from './copy-data-file.ts';
import { placeFile } from './placed-file.ts';

export interface BackupOptions {
  /** The data file, in use or not. */
  readonly file: string;
  /** Where the copy goes. Must not exist. */
  readonly to: string;
  readonly progress?: CopyProgress;
}

/**
 * Copies a data file at one revision, from any process, while its owner serves and writes. `to` appears whole, synced,
 * with mode 0600, or not at all; it can be opened by `openSqliteStore` as it is, or be given to `restoreSqlite`.
 *
 * Fails with `unavailable` where `to` exists or `file` does not, `corrupt` where `file` is damaged, `full` where no room
 * is left.
 */
export const backupSqlite = ({ file, to, progress }: BackupOptions): Promise<CopyResult> =>
  placeFile(to, (unfinished) => copyDataFile(file, unfinished, progress));
