import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { openDataFile } from '../drivers/sqlite/data-file.ts';
import { markAt, recordIdentity } from '../drivers/sqlite/file-identity.ts';
import { lockDataFile } from '../drivers/sqlite/owner-lock.ts';
import { placeFile } from '../drivers/sqlite/placed-file.ts';
import { realFileOf } from '../drivers/sqlite/real-file.ts';
import type { Revision, StoreRecord } from '../store.ts';
import { claimKey, formatClaim } from '../store-claim.ts';
import { type Inventory, type MigrationProgress, pagesOf, type SourceRecords } from './copy-records.ts';

interface MigrationToSqlite {
  readonly source: SourceRecords & { readonly dialect: string };
  /** The data file; must not exist. */
  readonly to: string;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly progress: MigrationProgress;
  /** Called before the file is put in its place; throws if the source has changed. */
  readonly confirm: () => Promise<void>;
}

/**
 * Makes a data file of a state. Its revisions go on above those of the source, and history before its end counts as compacted: clients of the source
 * list again. The file appears when it is complete; an attempt that ended early leaves nothing.
 */
export async function migrateToSqlite(migration: MigrationToSqlite): Promise<Revision> {
  const { source, clock, inventory, progress, confirm } = migration;
  const to = realFileOf(migration.to);
  const lock = lockDataFile(to);
  try {
    const { mark, revision } = await placeFile(to, async (unfinished) => {
      const database = openDataFile(unfinished);
      try {
        // The file is synced as a whole when it is complete.
        database.exec('PRAGMA synchronous = OFF');
        const rows = new Rows(database, source.at);
        const slice = new TimeSlice(clock);
        let done = 0;
        for await (const page of pagesOf(source)) {
          rows.insert(page);
          done += page.length;
          progress({ phase: 'copy', done, total: inventory.records });
          if (slice.over) await slice.next();
        }
        rows.insert([
          { key: claimKey, value: formatClaim({ type: 'served', dialect: source.dialect, moved: undefined }) },
        ]);
        await confirm();
        return { revision: rows.head, mark: markAt(database, rows.head) };
      } finally {
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        database.close();
      }
    });
    // Otherwise the file would be taken for a copy when it is served first.
    recordIdentity(to, mark);
    return revision;
  } finally {
    lock.close();
  }
}

class Rows {
  readonly #database: DatabaseSync;
  head: Revision;

  constructor(database: DatabaseSync, head: Revision) {
    this.#database = database;
    this.head = head;
  }

  insert(records: readonly Pick<StoreRecord, 'key' | 'value'>[]): void {
    const insert = this.#database.prepare(
      'INSERT INTO log (revision, deleted, previous, key, value) VALUES (?, 0, 0, ?, ?)',
    );
    this.#database.exec('BEGIN');
    for (const { key, value } of records) insert.run(++this.head, Buffer.from(key), value);
    this.#database.exec('COMMIT');
  }
}
