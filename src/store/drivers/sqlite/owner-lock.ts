import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Closable } from '../../../base/disposable.ts';
import { StoreError } from '../../store.ts';
import { createPrivately } from './data-file.ts';
import { isBusy, isFullDisk, toStoreError } from './sqlite-error.ts';

/**
 * Makes this process the owner of a data file until the result is closed, or fails at once with `unavailable` and the
 * name of the owner. Readers of the file (a backup) need no lock.
 *
 * The lock is an exclusive transaction on an empty database, `<file>-lock`: an operating system lock, released when the
 * process ends for whatever reason. Nothing is ever written to that file, so it cannot be damaged. The pid in
 * `<file>-pid` is only for the message: ownership is never derived from it, so a reused pid cannot mislead.
 */
export const lockDataFile = (file: string): Closable => {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const lock = tryLock(file);
    if (lock) return lock;
  }
  throw new StoreError('unavailable', `the lock of ${file} is being taken and given back by others`);
};

/**
 * An owner removes the lock file on close; a process that opened the file just before has locked a deleted file and
 * must retry.
 */
const attemptsMax = 8;

const tryLock = (file: string): Closable | undefined => {
  const lockFile = `${file}-lock`;
  const pidFile = `${file}-pid`;
  createPrivately(lockFile);
  const before = inodeOf(lockFile);
  const database = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new StoreError('unavailable', `${file} is in use by ${ownerIn(pidFile)}: stop it first`);
    throw toStoreError(error, lockFile);
  }
  if (before === undefined || inodeOf(lockFile) !== before) {
    database.close();
    return undefined;
  }
  try {
    writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  } catch (error) {
    // The pid is only for messages. Code that can handle a full disk will detect it.
    if (!isFullDisk(error)) {
      database.close();
      throw toStoreError(error, pidFile);
    }
  }
  return {
    close: () => {
      if (!database.isOpen) return;
      rmSync(pidFile, { force: true });
      rmSync(lockFile, { force: true });
      database.close();
    },
  };
};

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;

const ownerIn = (pidFile: string): string => {
  try {
    return `process ${Number.parseInt(readFileSync(pidFile, 'utf8'), 10) || 'that is starting'}`;
  } catch {
    // The owner has the lock and has not written its pid yet.
    return 'another process';
  }
};
