import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { until } from '../../../base/waits-fixture.ts';
import type { Store } from '../../store.ts';
import { backupSqlite } from './backup.ts';
import { openSqliteStore } from './sqlite-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'erased-'));
after(() => rmSync(folder, { recursive: true }));

const words = 'clear words that nobody may find';
const value = (number: number): Buffer =>
  Buffer.from(JSON.stringify({ number, text: words.repeat(1 + (number % 90)) }));

/** Names of the files of the folder that hold the words. */
const holding = (name: string): readonly string[] =>
  readdirSync(folder).filter((file) => file.startsWith(name) && readFileSync(join(folder, file)).includes(words));

/** Creates, changes and deletes values of many sizes, and writes all that stay in another form. */
async function used(store: Store, write: (number: number) => Buffer): Promise<void> {
  for (let number = 0; number < 90; number++) {
    const { revision } = await store.create(`/a/${number}`, write(number));
    if (number % 3 === 0) await store.delete(`/a/${number}`, revision);
    if (number % 3 === 1) await store.update(`/a/${number}`, write(number + 7), revision);
  }
}

async function rewritten(store: Store): Promise<void> {
  const { records } = await store.list('/a/');
  for (const { key, revision } of records) await store.update(key, Buffer.from('hidden'), revision);
}

test("the temporary copy is beside the data file: the system's folder may be on another disk", async () => {
  const own = mkdtempSync(join(folder, "a quote's "));
  const file = join(own, 'large.db');
  const before = await openSqliteStore({ file });
  // More than SQLite keeps in memory.
  for (let number = 0; number < 25; number++) await before.create(`/a/${number}`, Buffer.alloc(2_000_000, number));
  await before.close();
  const made = new Set<string | null>();
  const watcher = watch(own, (_, name) => made.add(name));
  try {
    const store = await openSqliteStore({ file, erase: true });
    await until(() => [...made].some((name) => name?.startsWith('etilqs_')), 'a temporary file of SQLite');
    await store.close();
  } finally {
    watcher.close();
  }
});

describe('values that are deleted and compacted', () => {
  test('stay in the files of a store that does not erase, which the others are compared with', async () => {
    const file = join(folder, 'kept.db');
    const store = await openSqliteStore({ file });
    await used(store, value);
    await rewritten(store);
    await store.compact(await store.head());
    assert.notDeepEqual(holding('kept'), []);
    await store.close();
  });

  test('are in no file, the write-ahead log and a backup included, also those from before it erased', async () => {
    const file = join(folder, 'moved.db');
    const before = await openSqliteStore({ file });
    await used(before, value);
    await before.compact(await before.head());
    await before.close();

    const store = await openSqliteStore({ file, erase: true });
    assert.notDeepEqual(holding('moved'), [], 'those that are there');
    await rewritten(store);
    await store.compact(await store.head());
    await backupSqlite({ file, to: join(folder, 'moved-copy.db') });
    assert.deepEqual(holding('moved'), []);
    await store.close();
    assert.deepEqual(holding('moved'), []);
  });

  test('are erased again where a store did not for a while', async () => {
    const file = join(folder, 'again.db');
    await (await openSqliteStore({ file, erase: true })).close();
    const plain = await openSqliteStore({ file });
    await used(plain, value);
    await rewritten(plain);
    await plain.compact(await plain.head());
    assert.notDeepEqual(holding('again'), []);
    await plain.close();
    const store = await openSqliteStore({ file, erase: true });
    assert.deepEqual(holding('again'), []);
    await store.close();
  });
});
