import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Checkpointer } from './checkpointer.ts';
import { readNumber } from './data-file.ts';
import { toStoreError } from './sqlite-error.ts';

/** A table that only a file has in which everything deleted so far was overwritten. */
const mark = 'erased';

/**
 * Has SQLite overwrite what is deleted from now on (sqlite.org/pragma.html#pragma_secure_delete). Where that was not so
 * from the beginning, the file is first written anew without what was deleted, which takes about a second for each
 * 100 MiB, and twice as much room on its disk as the file: for the copy, and for the write-ahead log. Returns why that could not be done, if it could not.
 */
export function eraseDeleted(database: DatabaseSync, checkpointer: Checkpointer, erase: boolean): string | undefined {
  database.exec(`PRAGMA secure_delete = ${erase ? 'ON' : 'OFF'}`);
  const isMarked = readNumber(database, `SELECT count(*) FROM sqlite_schema WHERE name = '${mark}'`) > 0;
  if (erase === isMarked) return undefined;
  try {
    if (erase) {
      writeAnew(database);
      database.exec(`CREATE TABLE ${mark} (id INTEGER PRIMARY KEY)`);
    } else database.exec(`DROP TABLE ${mark}`);
    if (erase) checkpointer.truncate();
    return undefined;
  } catch (error) {
    return toStoreError(error, 'the data file').message;
  }
}

/**
 * SQLite copies everything into a temporary file first, by default in `/var/tmp`, which may be small or on a disk that
 * must hold no clear text: it is beside the data file instead. The pragma is deprecated and of the whole process, but
 * the only way: the environment is read once, and threads cannot change it.
 */
function writeAnew(database: DatabaseSync): void {
  const folder = dirname(database.location() ?? '');
  database.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
  try {
    database.exec('VACUUM');
  } finally {
    database.exec("PRAGMA temp_store_directory = ''");
  }
}
