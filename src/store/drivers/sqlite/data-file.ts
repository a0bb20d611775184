/**
 * The data file: its layout, its creation, and the check that an existing file is one of ours.
 *
 * Nothing here opens a data file that may exist other than through SQLite: when a process closes any descriptor of a file,
 * it loses all its POSIX locks on that file (fcntl(2)), including those of a store in the same process. SQLite has no locks
 * on a write-ahead log.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Revision, StoreError } from '../../store.ts';
import { toStoreError } from './sqlite-error.ts';

/** `orch` in ASCII; the application id in the file header (sqlite.org/pragma.html#pragma_application_id). */
const applicationId = 0x6f726368;

/** Version of the layout below. A file of a later version is refused, so that an older program never writes to it. */
const layoutVersion = 1;

/** Values of about 1 KiB leave 4 KiB pages a quarter empty; pages larger than this cost more if keys are random. */
export const pageBytes = 8192;

/** WAL pages that trigger a checkpoint: 16 MiB. */
export const checkpointPages = 2_000;

/** Page cache. Holds the index of about 100,000 keys; values are read only once, by the cache above the store. */
const cacheKibibytes = 16_384;

/** How long to wait for a backup that opens or closes the file at the same moment. */
const busyMs = 5_000;

/**
 * One row per write, found by revision, and a covering index that tells which revision of a key is current, or was
 * current at a revision. A write appends one row, adds one index entry, and changes nothing else. After
 *
 *     2 create a=x,  3 update a=y,  4 delete a
 *
 * the rows are (2, live, previous 0, a, x), (3, live, previous 2, a, y), (4, deleted, previous 3, a, ''). `previous` is
 * the row that a write replaced: compaction deletes exactly those, without searching. Keys are blobs of UTF-8, so that
 * they sort by their bytes and every prefix has an upper bound.
 *
 * `meta.compacted`: history before this revision is compacted. `meta.swept`: rows up to this one were examined for
 * deletion. The head is the larger of `compacted` and the last row: rows after `compacted` are never deleted.
 */
const layout = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    deleted INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL
  );
  CREATE INDEX log_by_key ON log (key, revision, deleted);
  CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), compacted INTEGER NOT NULL, swept INTEGER NOT NULL);
  INSERT INTO meta VALUES (1, 0, 0);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${layoutVersion};
`;

/** Opens a data file for its owner, who holds the lock; creates it, with mode 0600, if it is absent or empty. */
export const openDataFile = (file: string): DatabaseSync => {
  assertFolder(file);
  createPrivately(file);
  syncLeftLog(file);
  return withDatabase(file, (database) => {
    if (isEmpty(database)) createLayout(database);
    else assertOurs(database, file);
    // The checks above created the companion files, with the permissions that the data file had.
    for (const suffix of ['', '-wal', '-shm']) keepPrivate(file + suffix);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages};
      PRAGMA journal_size_limit = ${checkpointPages * pageBytes}; PRAGMA cache_size = -${cacheKibibytes}`);
  });
};

/** Opens an existing data file for reading alongside its owner. */
export const openDataFileBeside = (file: string): DatabaseSync =>
  withDatabase(file, (database) => assertOurs(database, file));

/** Bytes of a log that are written again at once. */
const stepBytes = 1024 * 1024;

/**
 * Makes durable what SQLite will read of a log that another process left behind. If its last sync failed, the kernel may show
 * commits that are not on the disk and that no sync would write: they have to be written again before others follow them.
 */
const syncLeftLog = (file: string): void => {
  const log = `${file}-wal`;
  if (!existsSync(log)) return;
  try {
    const descriptor = openSync(log, 'r+');
    try {
      const bytes = new Uint8Array(stepBytes);
      for (let at = 0; ; ) {
        const length = readSync(descriptor, bytes, 0, stepBytes, at);
        if (length === 0) break;
        for (let done = 0; done < length; ) done += writeSync(descriptor, bytes, done, length - done, at + done);
        at += length;
      }
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw toStoreError(error, log);
  }
};

/** Creates an empty file if there is none. It will hold secrets: only its owner may read it. */
export const createPrivately = (file: string): void => {
  try {
    if (!existsSync(file)) closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw toStoreError(error, file);
  }
};

/** Throws if the file cannot be read and written, with a clearer message than SQLite's. */
const assertUsable = (file: string): void => {
  if (!existsSync(file)) throw new StoreError('unavailable', `the file ${file} does not exist`);
  if (!statSync(file).isFile()) throw new StoreError('unavailable', `${file} is not a file`);
  accessSync(file, constants.R_OK | constants.W_OK);
};

/** A copy made by hand may have wider permissions. Called only for files verified to be ours. */
const keepPrivate = (file: string): void => {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
  } catch (error) {
    // Some file systems do not support permissions: that is the choice of whoever put the file there.
    if (!isFileError(error, 'EPERM') && !isFileError(error, 'ENOTSUP')) throw error;
  }
};

const isFileError = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const withDatabase = (file: string, prepare: (database: DatabaseSync) => void): DatabaseSync => {
  let database: DatabaseSync | undefined;
  try {
    assertUsable(file);
    const whole = existsSync(`${file}-wal`) ? undefined : statSync(file).size;
    database = new DatabaseSync(file, { timeout: busyMs });
    if (whole !== undefined) assertWhole(database, file, whole);
    prepare(database);
    return database;
  } catch (error) {
    database?.close();
    throw toStoreError(error, file);
  }
};

/**
 * Throws if the file is shorter than its header says (SQLite itself notices only when it reads a missing page). Called
 * only for a file without a write-ahead log, which might hold pages that are not in the file yet.
 */
const assertWhole = (database: DatabaseSync, file: string, size: number): void => {
  const expected = readNumber(database, 'PRAGMA page_count') * readNumber(database, 'PRAGMA page_size');
  if (size >= expected) return;
  const message = `damaged data was found in ${file}: ${size} bytes are left of ${expected}; it was left as it is`;
  throw new StoreError('corrupt', message);
};

/** Also true if the owner ended between creating the file and creating its tables. */
const isEmpty = (database: DatabaseSync): boolean =>
  readNumber(database, 'PRAGMA page_count') === 0 ||
  (readNumber(database, 'SELECT count(*) FROM sqlite_schema') === 0 &&
    readNumber(database, 'PRAGMA application_id') === 0);

const createLayout = (database: DatabaseSync): void => {
  database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE; ${layout} COMMIT`);
};

/** Throws if the file is not a data file of this layout, before anything is written to it. */
const assertOurs = (database: DatabaseSync, file: string): void => {
  if (readNumber(database, 'PRAGMA application_id') !== applicationId) {
    throw new StoreError('unavailable', `${file} is an SQLite database of another program; it was left as it is`);
  }
  const version = readNumber(database, 'PRAGMA user_version');
  if (version > layoutVersion) {
    const message = `${file} has layout version ${version}, this program knows ${layoutVersion}: it was written by a newer one`;
    throw new StoreError('unavailable', `${message}; it was left as it is`);
  }
  const tables = readNumber(database, `SELECT count(*) FROM sqlite_schema WHERE name IN ('log', 'log_by_key', 'meta')`);
  if (tables !== 3 || readNumber(database, 'SELECT count(*) FROM meta') !== 1)
    throw new StoreError('corrupt', `${file} lacks parts of its layout; it was left as it is`);
};

/** The revision of the last write; 1 if there was none. */
export const headOf = (database: DatabaseSync): Revision =>
  Math.max(
    1,
    readNumber(database, 'SELECT compacted FROM meta'),
    readNumber(database, 'SELECT max(revision) FROM log'),
  );

/** The first column of the first row. */
export const readNumber = (database: DatabaseSync, sql: string): number => {
  const row = database.prepare(sql).get();
  const value = row && Object.values(row)[0];
  return typeof value === 'number' ? value : 0;
};

/** The first column of the first row; '' if it is not text. */
export const readText = (database: DatabaseSync, sql: string): string => {
  const row = database.prepare(sql).get();
  const value = row && Object.values(row)[0];
  return typeof value === 'string' ? value : '';
};

/** Throws if the folder of a file does not exist: creating it is left to whoever decides where data lives. */
export const assertFolder = (file: string): void => {
  const folder = dirname(file);
  if (!existsSync(folder)) throw new StoreError('unavailable', `the folder of ${file} does not exist`);
};
