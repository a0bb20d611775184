import type { DatabaseSync } from 'node:sqlite';
import type { Checkpointer } from './checkpointer.ts';
import { readNumber } from './data-file.ts';
import { toStoreError } from './sqlite-error.ts';

/** A table that only a file has in which everything deleted so far was overwritten. */
const mark = 'erased';

/**
 * Has SQLite overwrite what is deleted from now on (sqlite.org/pragma.html#pragma_secure_delete). Where that was not so
 * from the beginning, the file is first written anew without what was deleted, which takes about a second for each
 * 100 MiB, and as much room on the disk as the file. Returns why that could not be done, if it could not.
 */
export function eraseDeleted(database: DatabaseSync, checkpointer: Checkpointer, erase: boolean): string | undefined {
  database.exec(`PRAGMA secure_delete = ${erase ? 'ON' : 'OFF'}`);
  const isMarked = readNumber(database, `SELECT count(*) FROM sqlite_schema WHERE name = '${mark}'`) > 0;
  if (erase === isMarked) return undefined;
  try {
    if (erase) database.exec(`VACUUM; CREATE TABLE ${mark} (id INTEGER PRIMARY KEY)`);
    else database.exec(`DROP TABLE ${mark}`);
    if (erase) checkpointer.truncate();
    return undefined;
  } catch (error) {
    return toStoreError(error, 'the data file').message;
  }
}
