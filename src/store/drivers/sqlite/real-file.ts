import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { StoreError } from '../../store.ts';
import { toStoreError } from './sqlite-error.ts';

/** As many as Linux follows in one path (path_resolution(7)). */
const linksMax = 40;

/**
 * The path of a data file without symbolic links, whether the file exists or is about to be created; the path as given if
 * it has none. Lock, log and all other files beside a data file are named after it: under two names of one file, two
 * servers would not know of each other.
 *
 * Throws `unavailable` for links that lead round in a circle.
 */
export const realFileOf = (file: string): string => {
  const given = resolve(file);
  let path = given;
  try {
    for (let links = 0; links <= linksMax; links++) {
      const folder = realFolderOf(dirname(path));
      if (folder === undefined) return links === 0 ? file : path;
      path = join(folder, basename(path));
      if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path === given ? file : path;
      path = resolve(folder, readlinkSync(path));
    }
  } catch (error) {
    throw toStoreError(error, file);
  }
  throw new StoreError('unavailable', `${file} leads through too many symbolic links`);
};

/** Undefined if it does not exist: whoever opens the file says so. */
const realFolderOf = (folder: string): string | undefined =>
  statSync(folder, { throwIfNoEntry: false }) ? realpathSync(folder) : undefined;

/**
 * Throws `unavailable` for a file that has other names (hard links). Only the log beside the name under which it was opened
 * is found: under another one, what was acknowledged last would be missing (sqlite.org/howtocorrupt.html, section 2.4), and
 * the lock too.
 */
export const assertOneName = (file: string): void => {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile() || found.nlink === 1) return;
  throw new StoreError(
    'unavailable',
    `${file} has ${found.nlink} names (hard links), and SQLite finds what belongs to it beside one of them only: ` +
      `remove the others (find DIR -samefile ${file})`,
  );
};
