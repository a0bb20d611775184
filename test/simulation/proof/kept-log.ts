import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../../src/store/drivers/sqlite/sqlite-store.ts';
import type { Change, Revision } from '../../../src/store/store.ts';

/**
 * Makes a data file that keeps what compaction removes from its log, in the same transactions: a server that compacts early, as
 * on a full disk, leaves a log that can be compared with what clients saw. It may not be there.
 */
export async function createKeptLog(file: string): Promise<void> {
  await (await openSqliteStore({ file })).close();
  const database = new DatabaseSync(file);
  database.exec(`
    CREATE TABLE kept (revision INTEGER PRIMARY KEY, deleted INTEGER, previous INTEGER, key BLOB, value BLOB);
    CREATE TRIGGER keep BEFORE DELETE ON log BEGIN
      INSERT INTO kept VALUES (old.revision, old.deleted, old.previous, old.key, old.value);
    END;
  `);
  database.close();
}

interface Row {
  readonly revision: Revision;
  readonly deleted: number;
  readonly previous: Revision;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

interface KeptChanges {
  readonly changes: readonly Change[];
  /** History before this revision was compacted; 0: none was. */
  readonly compacted: Revision;
}

/** All changes of a file of `createKeptLog` that no process uses. */
export function keptChanges(file: string): KeptChanges {
  const database = new DatabaseSync(file);
  try {
    const columns = 'revision, deleted, previous, key, value';
    const rows = database.prepare(`SELECT ${columns} FROM kept UNION ALL SELECT ${columns} FROM log ORDER BY revision`);
    const all = rows.all() as Iterable<unknown> as Iterable<Row>;
    const values = new Map<Revision, Uint8Array>();
    const changes = [...all].map(({ revision, deleted, previous, key: bytes, value }): Change => {
      values.set(revision, value);
      const key = Buffer.from(bytes).toString();
      if (previous === 0) return { type: 'create', key, revision, value };
      const replaced = values.get(previous);
      if (!replaced) throw new Error(`revision ${revision} replaces ${previous}, which is not in the log`);
      const former = { key, value: replaced, revision: previous };
      return deleted === 0
        ? { type: 'update', key, revision, value, previous: former }
        : { type: 'delete', key, revision, previous: former };
    });
    return { changes, compacted: Number(database.prepare('SELECT compacted FROM meta').get()?.['compacted']) };
  } finally {
    database.close();
  }
}
