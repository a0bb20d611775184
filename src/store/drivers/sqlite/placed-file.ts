import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemRandom } from '../../../base/random.ts';
import { StoreError } from '../../store.ts';
import { assertFolder, createPrivately } from './data-file.ts';
import { toStoreError } from './sqlite-error.ts';

/**
 * Creates `to` atomically, with mode 0600: `write` fills a temporary file beside it, which is synced and then linked to
 * the name. Never overwrites: fails with `unavailable` if `to`, or a log that SQLite would take for part of it, exists.
 * A failure leaves nothing behind.
 */
export const placeFile = async <Result>(
  to: string,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> => {
  assertFolder(to);
  assertFree(to);
  const unfinished = join(dirname(to), `.${basename(to)}.${systemRandom.uuid()}`);
  try {
    createPrivately(unfinished);
    const result = await write(unfinished);
    sync(unfinished);
    // Unlike a rename, a link fails if the name was taken meanwhile.
    linkSync(unfinished, to);
    return result;
  } catch (error) {
    assertFree(to);
    throw toStoreError(error, to);
  } finally {
    for (const suffix of ['', ...companions]) rmSync(unfinished + suffix, { force: true });
    sync(dirname(to));
  }
};

/** Files that SQLite keeps beside a database, and reads as part of it if they exist. */
const companions = ['-wal', '-shm', '-journal'];

const assertFree = (to: string): void => {
  const taken = ['', ...companions].map((suffix) => to + suffix).find((file) => existsSync(file));
  if (taken !== undefined) throw new StoreError('unavailable', `${taken} exists already; it was left as it is`);
};

const sync = (path: string): void => {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
